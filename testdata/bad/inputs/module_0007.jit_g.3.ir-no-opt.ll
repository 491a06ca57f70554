; ModuleID = 'x'
