"""From a path to its text and what kind of text that is; what fails is a sentence.

* `text` opens, unpacks and decodes, with `compression` and `binary` (what is no text at all).
* `text_kind` tells what a text is by its first words; `refusals` says it to the user.
* `streams` takes a dump that XLA printed to standard output apart into files.
* `modules` takes a text that holds several modules, or a log around one, apart: `headings` says
  where they begin, `prefix` what a logger put before their lines.
* `module_head` reads the header line of a module.
"""
