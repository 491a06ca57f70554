; ModuleID = '__compute_module_add_tanh_fusion_kernel_module'
source_filename = "__compute_module_add_tanh_fusion_kernel_module"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: uwtable
define noalias noundef ptr @add_tanh_fusion(ptr nofree readonly captures(none) %0) local_unnamed_addr #0 {
vector.ph:
  %1 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %2 = load ptr, ptr %1, align 8, !invariant.load !8
  %3 = load ptr, ptr %2, align 8, !invariant.load !8, !dereferenceable !9
  br label %vector.body

vector.body:                                      ; preds = %vector.body, %vector.ph
  %index = phi i64 [ 0, %vector.ph ], [ %index.next, %vector.body ]
  %4 = shl i64 %index, 6
  %5 = getelementptr i8, ptr %3, i64 %4
  %6 = getelementptr i8, ptr %5, i64 64
  %7 = getelementptr i8, ptr %5, i64 128
  %8 = getelementptr i8, ptr %5, i64 192
  %9 = getelementptr i8, ptr %5, i64 256
  %10 = getelementptr i8, ptr %5, i64 320
  %11 = getelementptr i8, ptr %5, i64 384
  %12 = getelementptr i8, ptr %5, i64 448
  %13 = load float, ptr %5, align 4, !alias.scope !10
  %14 = load float, ptr %6, align 4, !alias.scope !10
  %15 = load float, ptr %7, align 4, !alias.scope !10
  %16 = load float, ptr %8, align 4, !alias.scope !10
  %17 = load float, ptr %9, align 4, !alias.scope !10
  %18 = load float, ptr %10, align 4, !alias.scope !10
  %19 = load float, ptr %11, align 4, !alias.scope !10
  %20 = load float, ptr %12, align 4, !alias.scope !10
  %21 = insertelement <8 x float> poison, float %13, i64 0
  %22 = insertelement <8 x float> %21, float %14, i64 1
  %23 = insertelement <8 x float> %22, float %15, i64 2
  %24 = insertelement <8 x float> %23, float %16, i64 3
  %25 = insertelement <8 x float> %24, float %17, i64 4
  %26 = insertelement <8 x float> %25, float %18, i64 5
  %27 = insertelement <8 x float> %26, float %19, i64 6
  %28 = insertelement <8 x float> %27, float %20, i64 7
  %29 = fadd <8 x float> %28, splat (float 1.000000e+00)
  %30 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %29)
  %31 = fcmp olt <8 x float> %30, splat (float 4.000000e-04)
  %.inv = fcmp olt <8 x float> %29, splat (float f0xC0FFF644)
  %32 = select <8 x i1> %.inv, <8 x float> splat (float f0xC0FFF644), <8 x float> %29
  %.inv1 = fcmp ogt <8 x float> %32, splat (float f0x40FFF644)
  %33 = select <8 x i1> %.inv1, <8 x float> splat (float f0x40FFF644), <8 x float> %32
  %34 = fmul <8 x float> %33, %33
  %35 = fmul <8 x float> %34, splat (float f0xA59F25C0)
  %36 = fadd <8 x float> %35, splat (float f0x2A61337E)
  %37 = fmul <8 x float> %34, %36
  %38 = fadd <8 x float> %37, splat (float f0xAEBD37FF)
  %39 = fmul <8 x float> %34, %38
  %40 = fadd <8 x float> %39, splat (float f0x335C0041)
  %41 = fmul <8 x float> %34, %40
  %42 = fadd <8 x float> %41, splat (float f0x3779434A)
  %43 = fmul <8 x float> %34, %42
  %44 = fadd <8 x float> %43, splat (float f0x3A270DED)
  %45 = fmul <8 x float> %34, %44
  %46 = fadd <8 x float> %45, splat (float f0x3BA059DC)
  %47 = fmul <8 x float> %33, %46
  %48 = fmul <8 x float> %34, splat (float f0x35A0D3D8)
  %49 = fadd <8 x float> %48, splat (float f0x38F895D6)
  %50 = fmul <8 x float> %34, %49
  %51 = fadd <8 x float> %50, splat (float f0x3B14AA05)
  %52 = fmul <8 x float> %34, %51
  %53 = fadd <8 x float> %52, splat (float f0x3BA059DD)
  %54 = fdiv <8 x float> %47, %53
  %55 = select <8 x i1> %31, <8 x float> %29, <8 x float> %54
  %56 = fcmp oge <8 x float> %30, splat (float 2.000000e+01)
  %57 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %29)
  %58 = select <8 x i1> %56, <8 x float> %57, <8 x float> %55
  %59 = extractelement <8 x float> %58, i64 0
  %60 = extractelement <8 x float> %58, i64 1
  %61 = extractelement <8 x float> %58, i64 2
  %62 = extractelement <8 x float> %58, i64 3
  %63 = extractelement <8 x float> %58, i64 4
  %64 = extractelement <8 x float> %58, i64 5
  %65 = extractelement <8 x float> %58, i64 6
  %66 = extractelement <8 x float> %58, i64 7
  store float %59, ptr %5, align 4, !alias.scope !10
  store float %60, ptr %6, align 4, !alias.scope !10
  store float %61, ptr %7, align 4, !alias.scope !10
  store float %62, ptr %8, align 4, !alias.scope !10
  store float %63, ptr %9, align 4, !alias.scope !10
  store float %64, ptr %10, align 4, !alias.scope !10
  store float %65, ptr %11, align 4, !alias.scope !10
  store float %66, ptr %12, align 4, !alias.scope !10
  %67 = getelementptr i8, ptr %5, i64 4
  %68 = getelementptr i8, ptr %5, i64 68
  %69 = getelementptr i8, ptr %5, i64 132
  %70 = getelementptr i8, ptr %5, i64 196
  %71 = getelementptr i8, ptr %5, i64 260
  %72 = getelementptr i8, ptr %5, i64 324
  %73 = getelementptr i8, ptr %5, i64 388
  %74 = getelementptr i8, ptr %5, i64 452
  %75 = load float, ptr %67, align 4, !alias.scope !10
  %76 = load float, ptr %68, align 4, !alias.scope !10
  %77 = load float, ptr %69, align 4, !alias.scope !10
  %78 = load float, ptr %70, align 4, !alias.scope !10
  %79 = load float, ptr %71, align 4, !alias.scope !10
  %80 = load float, ptr %72, align 4, !alias.scope !10
  %81 = load float, ptr %73, align 4, !alias.scope !10
  %82 = load float, ptr %74, align 4, !alias.scope !10
  %83 = insertelement <8 x float> poison, float %75, i64 0
  %84 = insertelement <8 x float> %83, float %76, i64 1
  %85 = insertelement <8 x float> %84, float %77, i64 2
  %86 = insertelement <8 x float> %85, float %78, i64 3
  %87 = insertelement <8 x float> %86, float %79, i64 4
  %88 = insertelement <8 x float> %87, float %80, i64 5
  %89 = insertelement <8 x float> %88, float %81, i64 6
  %90 = insertelement <8 x float> %89, float %82, i64 7
  %91 = fadd <8 x float> %90, splat (float 1.000000e+00)
  %92 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %91)
  %93 = fcmp olt <8 x float> %92, splat (float 4.000000e-04)
  %.inv2 = fcmp olt <8 x float> %91, splat (float f0xC0FFF644)
  %94 = select <8 x i1> %.inv2, <8 x float> splat (float f0xC0FFF644), <8 x float> %91
  %.inv3 = fcmp ogt <8 x float> %94, splat (float f0x40FFF644)
  %95 = select <8 x i1> %.inv3, <8 x float> splat (float f0x40FFF644), <8 x float> %94
  %96 = fmul <8 x float> %95, %95
  %97 = fmul <8 x float> %96, splat (float f0xA59F25C0)
  %98 = fadd <8 x float> %97, splat (float f0x2A61337E)
  %99 = fmul <8 x float> %96, %98
  %100 = fadd <8 x float> %99, splat (float f0xAEBD37FF)
  %101 = fmul <8 x float> %96, %100
  %102 = fadd <8 x float> %101, splat (float f0x335C0041)
  %103 = fmul <8 x float> %96, %102
  %104 = fadd <8 x float> %103, splat (float f0x3779434A)
  %105 = fmul <8 x float> %96, %104
  %106 = fadd <8 x float> %105, splat (float f0x3A270DED)
  %107 = fmul <8 x float> %96, %106
  %108 = fadd <8 x float> %107, splat (float f0x3BA059DC)
  %109 = fmul <8 x float> %95, %108
  %110 = fmul <8 x float> %96, splat (float f0x35A0D3D8)
  %111 = fadd <8 x float> %110, splat (float f0x38F895D6)
  %112 = fmul <8 x float> %96, %111
  %113 = fadd <8 x float> %112, splat (float f0x3B14AA05)
  %114 = fmul <8 x float> %96, %113
  %115 = fadd <8 x float> %114, splat (float f0x3BA059DD)
  %116 = fdiv <8 x float> %109, %115
  %117 = select <8 x i1> %93, <8 x float> %91, <8 x float> %116
  %118 = fcmp oge <8 x float> %92, splat (float 2.000000e+01)
  %119 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %91)
  %120 = select <8 x i1> %118, <8 x float> %119, <8 x float> %117
  %121 = extractelement <8 x float> %120, i64 0
  %122 = extractelement <8 x float> %120, i64 1
  %123 = extractelement <8 x float> %120, i64 2
  %124 = extractelement <8 x float> %120, i64 3
  %125 = extractelement <8 x float> %120, i64 4
  %126 = extractelement <8 x float> %120, i64 5
  %127 = extractelement <8 x float> %120, i64 6
  %128 = extractelement <8 x float> %120, i64 7
  store float %121, ptr %67, align 4, !alias.scope !10
  store float %122, ptr %68, align 4, !alias.scope !10
  store float %123, ptr %69, align 4, !alias.scope !10
  store float %124, ptr %70, align 4, !alias.scope !10
  store float %125, ptr %71, align 4, !alias.scope !10
  store float %126, ptr %72, align 4, !alias.scope !10
  store float %127, ptr %73, align 4, !alias.scope !10
  store float %128, ptr %74, align 4, !alias.scope !10
  %129 = getelementptr i8, ptr %5, i64 8
  %130 = getelementptr i8, ptr %5, i64 72
  %131 = getelementptr i8, ptr %5, i64 136
  %132 = getelementptr i8, ptr %5, i64 200
  %133 = getelementptr i8, ptr %5, i64 264
  %134 = getelementptr i8, ptr %5, i64 328
  %135 = getelementptr i8, ptr %5, i64 392
  %136 = getelementptr i8, ptr %5, i64 456
  %137 = load float, ptr %129, align 4, !alias.scope !10
  %138 = load float, ptr %130, align 4, !alias.scope !10
  %139 = load float, ptr %131, align 4, !alias.scope !10
  %140 = load float, ptr %132, align 4, !alias.scope !10
  %141 = load float, ptr %133, align 4, !alias.scope !10
  %142 = load float, ptr %134, align 4, !alias.scope !10
  %143 = load float, ptr %135, align 4, !alias.scope !10
  %144 = load float, ptr %136, align 4, !alias.scope !10
  %145 = insertelement <8 x float> poison, float %137, i64 0
  %146 = insertelement <8 x float> %145, float %138, i64 1
  %147 = insertelement <8 x float> %146, float %139, i64 2
  %148 = insertelement <8 x float> %147, float %140, i64 3
  %149 = insertelement <8 x float> %148, float %141, i64 4
  %150 = insertelement <8 x float> %149, float %142, i64 5
  %151 = insertelement <8 x float> %150, float %143, i64 6
  %152 = insertelement <8 x float> %151, float %144, i64 7
  %153 = fadd <8 x float> %152, splat (float 1.000000e+00)
  %154 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %153)
  %155 = fcmp olt <8 x float> %154, splat (float 4.000000e-04)
  %.inv4 = fcmp olt <8 x float> %153, splat (float f0xC0FFF644)
  %156 = select <8 x i1> %.inv4, <8 x float> splat (float f0xC0FFF644), <8 x float> %153
  %.inv5 = fcmp ogt <8 x float> %156, splat (float f0x40FFF644)
  %157 = select <8 x i1> %.inv5, <8 x float> splat (float f0x40FFF644), <8 x float> %156
  %158 = fmul <8 x float> %157, %157
  %159 = fmul <8 x float> %158, splat (float f0xA59F25C0)
  %160 = fadd <8 x float> %159, splat (float f0x2A61337E)
  %161 = fmul <8 x float> %158, %160
  %162 = fadd <8 x float> %161, splat (float f0xAEBD37FF)
  %163 = fmul <8 x float> %158, %162
  %164 = fadd <8 x float> %163, splat (float f0x335C0041)
  %165 = fmul <8 x float> %158, %164
  %166 = fadd <8 x float> %165, splat (float f0x3779434A)
  %167 = fmul <8 x float> %158, %166
  %168 = fadd <8 x float> %167, splat (float f0x3A270DED)
  %169 = fmul <8 x float> %158, %168
  %170 = fadd <8 x float> %169, splat (float f0x3BA059DC)
  %171 = fmul <8 x float> %157, %170
  %172 = fmul <8 x float> %158, splat (float f0x35A0D3D8)
  %173 = fadd <8 x float> %172, splat (float f0x38F895D6)
  %174 = fmul <8 x float> %158, %173
  %175 = fadd <8 x float> %174, splat (float f0x3B14AA05)
  %176 = fmul <8 x float> %158, %175
  %177 = fadd <8 x float> %176, splat (float f0x3BA059DD)
  %178 = fdiv <8 x float> %171, %177
  %179 = select <8 x i1> %155, <8 x float> %153, <8 x float> %178
  %180 = fcmp oge <8 x float> %154, splat (float 2.000000e+01)
  %181 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %153)
  %182 = select <8 x i1> %180, <8 x float> %181, <8 x float> %179
  %183 = extractelement <8 x float> %182, i64 0
  %184 = extractelement <8 x float> %182, i64 1
  %185 = extractelement <8 x float> %182, i64 2
  %186 = extractelement <8 x float> %182, i64 3
  %187 = extractelement <8 x float> %182, i64 4
  %188 = extractelement <8 x float> %182, i64 5
  %189 = extractelement <8 x float> %182, i64 6
  %190 = extractelement <8 x float> %182, i64 7
  store float %183, ptr %129, align 4, !alias.scope !10
  store float %184, ptr %130, align 4, !alias.scope !10
  store float %185, ptr %131, align 4, !alias.scope !10
  store float %186, ptr %132, align 4, !alias.scope !10
  store float %187, ptr %133, align 4, !alias.scope !10
  store float %188, ptr %134, align 4, !alias.scope !10
  store float %189, ptr %135, align 4, !alias.scope !10
  store float %190, ptr %136, align 4, !alias.scope !10
  %191 = getelementptr i8, ptr %5, i64 12
  %192 = getelementptr i8, ptr %5, i64 76
  %193 = getelementptr i8, ptr %5, i64 140
  %194 = getelementptr i8, ptr %5, i64 204
  %195 = getelementptr i8, ptr %5, i64 268
  %196 = getelementptr i8, ptr %5, i64 332
  %197 = getelementptr i8, ptr %5, i64 396
  %198 = getelementptr i8, ptr %5, i64 460
  %199 = load float, ptr %191, align 4, !alias.scope !10
  %200 = load float, ptr %192, align 4, !alias.scope !10
  %201 = load float, ptr %193, align 4, !alias.scope !10
  %202 = load float, ptr %194, align 4, !alias.scope !10
  %203 = load float, ptr %195, align 4, !alias.scope !10
  %204 = load float, ptr %196, align 4, !alias.scope !10
  %205 = load float, ptr %197, align 4, !alias.scope !10
  %206 = load float, ptr %198, align 4, !alias.scope !10
  %207 = insertelement <8 x float> poison, float %199, i64 0
  %208 = insertelement <8 x float> %207, float %200, i64 1
  %209 = insertelement <8 x float> %208, float %201, i64 2
  %210 = insertelement <8 x float> %209, float %202, i64 3
  %211 = insertelement <8 x float> %210, float %203, i64 4
  %212 = insertelement <8 x float> %211, float %204, i64 5
  %213 = insertelement <8 x float> %212, float %205, i64 6
  %214 = insertelement <8 x float> %213, float %206, i64 7
  %215 = fadd <8 x float> %214, splat (float 1.000000e+00)
  %216 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %215)
  %217 = fcmp olt <8 x float> %216, splat (float 4.000000e-04)
  %.inv6 = fcmp olt <8 x float> %215, splat (float f0xC0FFF644)
  %218 = select <8 x i1> %.inv6, <8 x float> splat (float f0xC0FFF644), <8 x float> %215
  %.inv7 = fcmp ogt <8 x float> %218, splat (float f0x40FFF644)
  %219 = select <8 x i1> %.inv7, <8 x float> splat (float f0x40FFF644), <8 x float> %218
  %220 = fmul <8 x float> %219, %219
  %221 = fmul <8 x float> %220, splat (float f0xA59F25C0)
  %222 = fadd <8 x float> %221, splat (float f0x2A61337E)
  %223 = fmul <8 x float> %220, %222
  %224 = fadd <8 x float> %223, splat (float f0xAEBD37FF)
  %225 = fmul <8 x float> %220, %224
  %226 = fadd <8 x float> %225, splat (float f0x335C0041)
  %227 = fmul <8 x float> %220, %226
  %228 = fadd <8 x float> %227, splat (float f0x3779434A)
  %229 = fmul <8 x float> %220, %228
  %230 = fadd <8 x float> %229, splat (float f0x3A270DED)
  %231 = fmul <8 x float> %220, %230
  %232 = fadd <8 x float> %231, splat (float f0x3BA059DC)
  %233 = fmul <8 x float> %219, %232
  %234 = fmul <8 x float> %220, splat (float f0x35A0D3D8)
  %235 = fadd <8 x float> %234, splat (float f0x38F895D6)
  %236 = fmul <8 x float> %220, %235
  %237 = fadd <8 x float> %236, splat (float f0x3B14AA05)
  %238 = fmul <8 x float> %220, %237
  %239 = fadd <8 x float> %238, splat (float f0x3BA059DD)
  %240 = fdiv <8 x float> %233, %239
  %241 = select <8 x i1> %217, <8 x float> %215, <8 x float> %240
  %242 = fcmp oge <8 x float> %216, splat (float 2.000000e+01)
  %243 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %215)
  %244 = select <8 x i1> %242, <8 x float> %243, <8 x float> %241
  %245 = extractelement <8 x float> %244, i64 0
  %246 = extractelement <8 x float> %244, i64 1
  %247 = extractelement <8 x float> %244, i64 2
  %248 = extractelement <8 x float> %244, i64 3
  %249 = extractelement <8 x float> %244, i64 4
  %250 = extractelement <8 x float> %244, i64 5
  %251 = extractelement <8 x float> %244, i64 6
  %252 = extractelement <8 x float> %244, i64 7
  store float %245, ptr %191, align 4, !alias.scope !10
  store float %246, ptr %192, align 4, !alias.scope !10
  store float %247, ptr %193, align 4, !alias.scope !10
  store float %248, ptr %194, align 4, !alias.scope !10
  store float %249, ptr %195, align 4, !alias.scope !10
  store float %250, ptr %196, align 4, !alias.scope !10
  store float %251, ptr %197, align 4, !alias.scope !10
  store float %252, ptr %198, align 4, !alias.scope !10
  %253 = getelementptr i8, ptr %5, i64 16
  %254 = getelementptr i8, ptr %5, i64 80
  %255 = getelementptr i8, ptr %5, i64 144
  %256 = getelementptr i8, ptr %5, i64 208
  %257 = getelementptr i8, ptr %5, i64 272
  %258 = getelementptr i8, ptr %5, i64 336
  %259 = getelementptr i8, ptr %5, i64 400
  %260 = getelementptr i8, ptr %5, i64 464
  %261 = load float, ptr %253, align 4, !alias.scope !10
  %262 = load float, ptr %254, align 4, !alias.scope !10
  %263 = load float, ptr %255, align 4, !alias.scope !10
  %264 = load float, ptr %256, align 4, !alias.scope !10
  %265 = load float, ptr %257, align 4, !alias.scope !10
  %266 = load float, ptr %258, align 4, !alias.scope !10
  %267 = load float, ptr %259, align 4, !alias.scope !10
  %268 = load float, ptr %260, align 4, !alias.scope !10
  %269 = insertelement <8 x float> poison, float %261, i64 0
  %270 = insertelement <8 x float> %269, float %262, i64 1
  %271 = insertelement <8 x float> %270, float %263, i64 2
  %272 = insertelement <8 x float> %271, float %264, i64 3
  %273 = insertelement <8 x float> %272, float %265, i64 4
  %274 = insertelement <8 x float> %273, float %266, i64 5
  %275 = insertelement <8 x float> %274, float %267, i64 6
  %276 = insertelement <8 x float> %275, float %268, i64 7
  %277 = fadd <8 x float> %276, splat (float 1.000000e+00)
  %278 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %277)
  %279 = fcmp olt <8 x float> %278, splat (float 4.000000e-04)
  %.inv8 = fcmp olt <8 x float> %277, splat (float f0xC0FFF644)
  %280 = select <8 x i1> %.inv8, <8 x float> splat (float f0xC0FFF644), <8 x float> %277
  %.inv9 = fcmp ogt <8 x float> %280, splat (float f0x40FFF644)
  %281 = select <8 x i1> %.inv9, <8 x float> splat (float f0x40FFF644), <8 x float> %280
  %282 = fmul <8 x float> %281, %281
  %283 = fmul <8 x float> %282, splat (float f0xA59F25C0)
  %284 = fadd <8 x float> %283, splat (float f0x2A61337E)
  %285 = fmul <8 x float> %282, %284
  %286 = fadd <8 x float> %285, splat (float f0xAEBD37FF)
  %287 = fmul <8 x float> %282, %286
  %288 = fadd <8 x float> %287, splat (float f0x335C0041)
  %289 = fmul <8 x float> %282, %288
  %290 = fadd <8 x float> %289, splat (float f0x3779434A)
  %291 = fmul <8 x float> %282, %290
  %292 = fadd <8 x float> %291, splat (float f0x3A270DED)
  %293 = fmul <8 x float> %282, %292
  %294 = fadd <8 x float> %293, splat (float f0x3BA059DC)
  %295 = fmul <8 x float> %281, %294
  %296 = fmul <8 x float> %282, splat (float f0x35A0D3D8)
  %297 = fadd <8 x float> %296, splat (float f0x38F895D6)
  %298 = fmul <8 x float> %282, %297
  %299 = fadd <8 x float> %298, splat (float f0x3B14AA05)
  %300 = fmul <8 x float> %282, %299
  %301 = fadd <8 x float> %300, splat (float f0x3BA059DD)
  %302 = fdiv <8 x float> %295, %301
  %303 = select <8 x i1> %279, <8 x float> %277, <8 x float> %302
  %304 = fcmp oge <8 x float> %278, splat (float 2.000000e+01)
  %305 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %277)
  %306 = select <8 x i1> %304, <8 x float> %305, <8 x float> %303
  %307 = extractelement <8 x float> %306, i64 0
  %308 = extractelement <8 x float> %306, i64 1
  %309 = extractelement <8 x float> %306, i64 2
  %310 = extractelement <8 x float> %306, i64 3
  %311 = extractelement <8 x float> %306, i64 4
  %312 = extractelement <8 x float> %306, i64 5
  %313 = extractelement <8 x float> %306, i64 6
  %314 = extractelement <8 x float> %306, i64 7
  store float %307, ptr %253, align 4, !alias.scope !10
  store float %308, ptr %254, align 4, !alias.scope !10
  store float %309, ptr %255, align 4, !alias.scope !10
  store float %310, ptr %256, align 4, !alias.scope !10
  store float %311, ptr %257, align 4, !alias.scope !10
  store float %312, ptr %258, align 4, !alias.scope !10
  store float %313, ptr %259, align 4, !alias.scope !10
  store float %314, ptr %260, align 4, !alias.scope !10
  %315 = getelementptr i8, ptr %5, i64 20
  %316 = getelementptr i8, ptr %5, i64 84
  %317 = getelementptr i8, ptr %5, i64 148
  %318 = getelementptr i8, ptr %5, i64 212
  %319 = getelementptr i8, ptr %5, i64 276
  %320 = getelementptr i8, ptr %5, i64 340
  %321 = getelementptr i8, ptr %5, i64 404
  %322 = getelementptr i8, ptr %5, i64 468
  %323 = load float, ptr %315, align 4, !alias.scope !10
  %324 = load float, ptr %316, align 4, !alias.scope !10
  %325 = load float, ptr %317, align 4, !alias.scope !10
  %326 = load float, ptr %318, align 4, !alias.scope !10
  %327 = load float, ptr %319, align 4, !alias.scope !10
  %328 = load float, ptr %320, align 4, !alias.scope !10
  %329 = load float, ptr %321, align 4, !alias.scope !10
  %330 = load float, ptr %322, align 4, !alias.scope !10
  %331 = insertelement <8 x float> poison, float %323, i64 0
  %332 = insertelement <8 x float> %331, float %324, i64 1
  %333 = insertelement <8 x float> %332, float %325, i64 2
  %334 = insertelement <8 x float> %333, float %326, i64 3
  %335 = insertelement <8 x float> %334, float %327, i64 4
  %336 = insertelement <8 x float> %335, float %328, i64 5
  %337 = insertelement <8 x float> %336, float %329, i64 6
  %338 = insertelement <8 x float> %337, float %330, i64 7
  %339 = fadd <8 x float> %338, splat (float 1.000000e+00)
  %340 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %339)
  %341 = fcmp olt <8 x float> %340, splat (float 4.000000e-04)
  %.inv10 = fcmp olt <8 x float> %339, splat (float f0xC0FFF644)
  %342 = select <8 x i1> %.inv10, <8 x float> splat (float f0xC0FFF644), <8 x float> %339
  %.inv11 = fcmp ogt <8 x float> %342, splat (float f0x40FFF644)
  %343 = select <8 x i1> %.inv11, <8 x float> splat (float f0x40FFF644), <8 x float> %342
  %344 = fmul <8 x float> %343, %343
  %345 = fmul <8 x float> %344, splat (float f0xA59F25C0)
  %346 = fadd <8 x float> %345, splat (float f0x2A61337E)
  %347 = fmul <8 x float> %344, %346
  %348 = fadd <8 x float> %347, splat (float f0xAEBD37FF)
  %349 = fmul <8 x float> %344, %348
  %350 = fadd <8 x float> %349, splat (float f0x335C0041)
  %351 = fmul <8 x float> %344, %350
  %352 = fadd <8 x float> %351, splat (float f0x3779434A)
  %353 = fmul <8 x float> %344, %352
  %354 = fadd <8 x float> %353, splat (float f0x3A270DED)
  %355 = fmul <8 x float> %344, %354
  %356 = fadd <8 x float> %355, splat (float f0x3BA059DC)
  %357 = fmul <8 x float> %343, %356
  %358 = fmul <8 x float> %344, splat (float f0x35A0D3D8)
  %359 = fadd <8 x float> %358, splat (float f0x38F895D6)
  %360 = fmul <8 x float> %344, %359
  %361 = fadd <8 x float> %360, splat (float f0x3B14AA05)
  %362 = fmul <8 x float> %344, %361
  %363 = fadd <8 x float> %362, splat (float f0x3BA059DD)
  %364 = fdiv <8 x float> %357, %363
  %365 = select <8 x i1> %341, <8 x float> %339, <8 x float> %364
  %366 = fcmp oge <8 x float> %340, splat (float 2.000000e+01)
  %367 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %339)
  %368 = select <8 x i1> %366, <8 x float> %367, <8 x float> %365
  %369 = extractelement <8 x float> %368, i64 0
  %370 = extractelement <8 x float> %368, i64 1
  %371 = extractelement <8 x float> %368, i64 2
  %372 = extractelement <8 x float> %368, i64 3
  %373 = extractelement <8 x float> %368, i64 4
  %374 = extractelement <8 x float> %368, i64 5
  %375 = extractelement <8 x float> %368, i64 6
  %376 = extractelement <8 x float> %368, i64 7
  store float %369, ptr %315, align 4, !alias.scope !10
  store float %370, ptr %316, align 4, !alias.scope !10
  store float %371, ptr %317, align 4, !alias.scope !10
  store float %372, ptr %318, align 4, !alias.scope !10
  store float %373, ptr %319, align 4, !alias.scope !10
  store float %374, ptr %320, align 4, !alias.scope !10
  store float %375, ptr %321, align 4, !alias.scope !10
  store float %376, ptr %322, align 4, !alias.scope !10
  %377 = getelementptr i8, ptr %5, i64 24
  %378 = getelementptr i8, ptr %5, i64 88
  %379 = getelementptr i8, ptr %5, i64 152
  %380 = getelementptr i8, ptr %5, i64 216
  %381 = getelementptr i8, ptr %5, i64 280
  %382 = getelementptr i8, ptr %5, i64 344
  %383 = getelementptr i8, ptr %5, i64 408
  %384 = getelementptr i8, ptr %5, i64 472
  %385 = load float, ptr %377, align 4, !alias.scope !10
  %386 = load float, ptr %378, align 4, !alias.scope !10
  %387 = load float, ptr %379, align 4, !alias.scope !10
  %388 = load float, ptr %380, align 4, !alias.scope !10
  %389 = load float, ptr %381, align 4, !alias.scope !10
  %390 = load float, ptr %382, align 4, !alias.scope !10
  %391 = load float, ptr %383, align 4, !alias.scope !10
  %392 = load float, ptr %384, align 4, !alias.scope !10
  %393 = insertelement <8 x float> poison, float %385, i64 0
  %394 = insertelement <8 x float> %393, float %386, i64 1
  %395 = insertelement <8 x float> %394, float %387, i64 2
  %396 = insertelement <8 x float> %395, float %388, i64 3
  %397 = insertelement <8 x float> %396, float %389, i64 4
  %398 = insertelement <8 x float> %397, float %390, i64 5
  %399 = insertelement <8 x float> %398, float %391, i64 6
  %400 = insertelement <8 x float> %399, float %392, i64 7
  %401 = fadd <8 x float> %400, splat (float 1.000000e+00)
  %402 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %401)
  %403 = fcmp olt <8 x float> %402, splat (float 4.000000e-04)
  %.inv12 = fcmp olt <8 x float> %401, splat (float f0xC0FFF644)
  %404 = select <8 x i1> %.inv12, <8 x float> splat (float f0xC0FFF644), <8 x float> %401
  %.inv13 = fcmp ogt <8 x float> %404, splat (float f0x40FFF644)
  %405 = select <8 x i1> %.inv13, <8 x float> splat (float f0x40FFF644), <8 x float> %404
  %406 = fmul <8 x float> %405, %405
  %407 = fmul <8 x float> %406, splat (float f0xA59F25C0)
  %408 = fadd <8 x float> %407, splat (float f0x2A61337E)
  %409 = fmul <8 x float> %406, %408
  %410 = fadd <8 x float> %409, splat (float f0xAEBD37FF)
  %411 = fmul <8 x float> %406, %410
  %412 = fadd <8 x float> %411, splat (float f0x335C0041)
  %413 = fmul <8 x float> %406, %412
  %414 = fadd <8 x float> %413, splat (float f0x3779434A)
  %415 = fmul <8 x float> %406, %414
  %416 = fadd <8 x float> %415, splat (float f0x3A270DED)
  %417 = fmul <8 x float> %406, %416
  %418 = fadd <8 x float> %417, splat (float f0x3BA059DC)
  %419 = fmul <8 x float> %405, %418
  %420 = fmul <8 x float> %406, splat (float f0x35A0D3D8)
  %421 = fadd <8 x float> %420, splat (float f0x38F895D6)
  %422 = fmul <8 x float> %406, %421
  %423 = fadd <8 x float> %422, splat (float f0x3B14AA05)
  %424 = fmul <8 x float> %406, %423
  %425 = fadd <8 x float> %424, splat (float f0x3BA059DD)
  %426 = fdiv <8 x float> %419, %425
  %427 = select <8 x i1> %403, <8 x float> %401, <8 x float> %426
  %428 = fcmp oge <8 x float> %402, splat (float 2.000000e+01)
  %429 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %401)
  %430 = select <8 x i1> %428, <8 x float> %429, <8 x float> %427
  %431 = extractelement <8 x float> %430, i64 0
  %432 = extractelement <8 x float> %430, i64 1
  %433 = extractelement <8 x float> %430, i64 2
  %434 = extractelement <8 x float> %430, i64 3
  %435 = extractelement <8 x float> %430, i64 4
  %436 = extractelement <8 x float> %430, i64 5
  %437 = extractelement <8 x float> %430, i64 6
  %438 = extractelement <8 x float> %430, i64 7
  store float %431, ptr %377, align 4, !alias.scope !10
  store float %432, ptr %378, align 4, !alias.scope !10
  store float %433, ptr %379, align 4, !alias.scope !10
  store float %434, ptr %380, align 4, !alias.scope !10
  store float %435, ptr %381, align 4, !alias.scope !10
  store float %436, ptr %382, align 4, !alias.scope !10
  store float %437, ptr %383, align 4, !alias.scope !10
  store float %438, ptr %384, align 4, !alias.scope !10
  %439 = getelementptr i8, ptr %5, i64 28
  %440 = getelementptr i8, ptr %5, i64 92
  %441 = getelementptr i8, ptr %5, i64 156
  %442 = getelementptr i8, ptr %5, i64 220
  %443 = getelementptr i8, ptr %5, i64 284
  %444 = getelementptr i8, ptr %5, i64 348
  %445 = getelementptr i8, ptr %5, i64 412
  %446 = getelementptr i8, ptr %5, i64 476
  %447 = load float, ptr %439, align 4, !alias.scope !10
  %448 = load float, ptr %440, align 4, !alias.scope !10
  %449 = load float, ptr %441, align 4, !alias.scope !10
  %450 = load float, ptr %442, align 4, !alias.scope !10
  %451 = load float, ptr %443, align 4, !alias.scope !10
  %452 = load float, ptr %444, align 4, !alias.scope !10
  %453 = load float, ptr %445, align 4, !alias.scope !10
  %454 = load float, ptr %446, align 4, !alias.scope !10
  %455 = insertelement <8 x float> poison, float %447, i64 0
  %456 = insertelement <8 x float> %455, float %448, i64 1
  %457 = insertelement <8 x float> %456, float %449, i64 2
  %458 = insertelement <8 x float> %457, float %450, i64 3
  %459 = insertelement <8 x float> %458, float %451, i64 4
  %460 = insertelement <8 x float> %459, float %452, i64 5
  %461 = insertelement <8 x float> %460, float %453, i64 6
  %462 = insertelement <8 x float> %461, float %454, i64 7
  %463 = fadd <8 x float> %462, splat (float 1.000000e+00)
  %464 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %463)
  %465 = fcmp olt <8 x float> %464, splat (float 4.000000e-04)
  %.inv14 = fcmp olt <8 x float> %463, splat (float f0xC0FFF644)
  %466 = select <8 x i1> %.inv14, <8 x float> splat (float f0xC0FFF644), <8 x float> %463
  %.inv15 = fcmp ogt <8 x float> %466, splat (float f0x40FFF644)
  %467 = select <8 x i1> %.inv15, <8 x float> splat (float f0x40FFF644), <8 x float> %466
  %468 = fmul <8 x float> %467, %467
  %469 = fmul <8 x float> %468, splat (float f0xA59F25C0)
  %470 = fadd <8 x float> %469, splat (float f0x2A61337E)
  %471 = fmul <8 x float> %468, %470
  %472 = fadd <8 x float> %471, splat (float f0xAEBD37FF)
  %473 = fmul <8 x float> %468, %472
  %474 = fadd <8 x float> %473, splat (float f0x335C0041)
  %475 = fmul <8 x float> %468, %474
  %476 = fadd <8 x float> %475, splat (float f0x3779434A)
  %477 = fmul <8 x float> %468, %476
  %478 = fadd <8 x float> %477, splat (float f0x3A270DED)
  %479 = fmul <8 x float> %468, %478
  %480 = fadd <8 x float> %479, splat (float f0x3BA059DC)
  %481 = fmul <8 x float> %467, %480
  %482 = fmul <8 x float> %468, splat (float f0x35A0D3D8)
  %483 = fadd <8 x float> %482, splat (float f0x38F895D6)
  %484 = fmul <8 x float> %468, %483
  %485 = fadd <8 x float> %484, splat (float f0x3B14AA05)
  %486 = fmul <8 x float> %468, %485
  %487 = fadd <8 x float> %486, splat (float f0x3BA059DD)
  %488 = fdiv <8 x float> %481, %487
  %489 = select <8 x i1> %465, <8 x float> %463, <8 x float> %488
  %490 = fcmp oge <8 x float> %464, splat (float 2.000000e+01)
  %491 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %463)
  %492 = select <8 x i1> %490, <8 x float> %491, <8 x float> %489
  %493 = extractelement <8 x float> %492, i64 0
  %494 = extractelement <8 x float> %492, i64 1
  %495 = extractelement <8 x float> %492, i64 2
  %496 = extractelement <8 x float> %492, i64 3
  %497 = extractelement <8 x float> %492, i64 4
  %498 = extractelement <8 x float> %492, i64 5
  %499 = extractelement <8 x float> %492, i64 6
  %500 = extractelement <8 x float> %492, i64 7
  store float %493, ptr %439, align 4, !alias.scope !10
  store float %494, ptr %440, align 4, !alias.scope !10
  store float %495, ptr %441, align 4, !alias.scope !10
  store float %496, ptr %442, align 4, !alias.scope !10
  store float %497, ptr %443, align 4, !alias.scope !10
  store float %498, ptr %444, align 4, !alias.scope !10
  store float %499, ptr %445, align 4, !alias.scope !10
  store float %500, ptr %446, align 4, !alias.scope !10
  %501 = getelementptr i8, ptr %5, i64 32
  %502 = getelementptr i8, ptr %5, i64 96
  %503 = getelementptr i8, ptr %5, i64 160
  %504 = getelementptr i8, ptr %5, i64 224
  %505 = getelementptr i8, ptr %5, i64 288
  %506 = getelementptr i8, ptr %5, i64 352
  %507 = getelementptr i8, ptr %5, i64 416
  %508 = getelementptr i8, ptr %5, i64 480
  %509 = load float, ptr %501, align 4, !alias.scope !10
  %510 = load float, ptr %502, align 4, !alias.scope !10
  %511 = load float, ptr %503, align 4, !alias.scope !10
  %512 = load float, ptr %504, align 4, !alias.scope !10
  %513 = load float, ptr %505, align 4, !alias.scope !10
  %514 = load float, ptr %506, align 4, !alias.scope !10
  %515 = load float, ptr %507, align 4, !alias.scope !10
  %516 = load float, ptr %508, align 4, !alias.scope !10
  %517 = insertelement <8 x float> poison, float %509, i64 0
  %518 = insertelement <8 x float> %517, float %510, i64 1
  %519 = insertelement <8 x float> %518, float %511, i64 2
  %520 = insertelement <8 x float> %519, float %512, i64 3
  %521 = insertelement <8 x float> %520, float %513, i64 4
  %522 = insertelement <8 x float> %521, float %514, i64 5
  %523 = insertelement <8 x float> %522, float %515, i64 6
  %524 = insertelement <8 x float> %523, float %516, i64 7
  %525 = fadd <8 x float> %524, splat (float 1.000000e+00)
  %526 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %525)
  %527 = fcmp olt <8 x float> %526, splat (float 4.000000e-04)
  %.inv16 = fcmp olt <8 x float> %525, splat (float f0xC0FFF644)
  %528 = select <8 x i1> %.inv16, <8 x float> splat (float f0xC0FFF644), <8 x float> %525
  %.inv17 = fcmp ogt <8 x float> %528, splat (float f0x40FFF644)
  %529 = select <8 x i1> %.inv17, <8 x float> splat (float f0x40FFF644), <8 x float> %528
  %530 = fmul <8 x float> %529, %529
  %531 = fmul <8 x float> %530, splat (float f0xA59F25C0)
  %532 = fadd <8 x float> %531, splat (float f0x2A61337E)
  %533 = fmul <8 x float> %530, %532
  %534 = fadd <8 x float> %533, splat (float f0xAEBD37FF)
  %535 = fmul <8 x float> %530, %534
  %536 = fadd <8 x float> %535, splat (float f0x335C0041)
  %537 = fmul <8 x float> %530, %536
  %538 = fadd <8 x float> %537, splat (float f0x3779434A)
  %539 = fmul <8 x float> %530, %538
  %540 = fadd <8 x float> %539, splat (float f0x3A270DED)
  %541 = fmul <8 x float> %530, %540
  %542 = fadd <8 x float> %541, splat (float f0x3BA059DC)
  %543 = fmul <8 x float> %529, %542
  %544 = fmul <8 x float> %530, splat (float f0x35A0D3D8)
  %545 = fadd <8 x float> %544, splat (float f0x38F895D6)
  %546 = fmul <8 x float> %530, %545
  %547 = fadd <8 x float> %546, splat (float f0x3B14AA05)
  %548 = fmul <8 x float> %530, %547
  %549 = fadd <8 x float> %548, splat (float f0x3BA059DD)
  %550 = fdiv <8 x float> %543, %549
  %551 = select <8 x i1> %527, <8 x float> %525, <8 x float> %550
  %552 = fcmp oge <8 x float> %526, splat (float 2.000000e+01)
  %553 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %525)
  %554 = select <8 x i1> %552, <8 x float> %553, <8 x float> %551
  %555 = extractelement <8 x float> %554, i64 0
  %556 = extractelement <8 x float> %554, i64 1
  %557 = extractelement <8 x float> %554, i64 2
  %558 = extractelement <8 x float> %554, i64 3
  %559 = extractelement <8 x float> %554, i64 4
  %560 = extractelement <8 x float> %554, i64 5
  %561 = extractelement <8 x float> %554, i64 6
  %562 = extractelement <8 x float> %554, i64 7
  store float %555, ptr %501, align 4, !alias.scope !10
  store float %556, ptr %502, align 4, !alias.scope !10
  store float %557, ptr %503, align 4, !alias.scope !10
  store float %558, ptr %504, align 4, !alias.scope !10
  store float %559, ptr %505, align 4, !alias.scope !10
  store float %560, ptr %506, align 4, !alias.scope !10
  store float %561, ptr %507, align 4, !alias.scope !10
  store float %562, ptr %508, align 4, !alias.scope !10
  %563 = getelementptr i8, ptr %5, i64 36
  %564 = getelementptr i8, ptr %5, i64 100
  %565 = getelementptr i8, ptr %5, i64 164
  %566 = getelementptr i8, ptr %5, i64 228
  %567 = getelementptr i8, ptr %5, i64 292
  %568 = getelementptr i8, ptr %5, i64 356
  %569 = getelementptr i8, ptr %5, i64 420
  %570 = getelementptr i8, ptr %5, i64 484
  %571 = load float, ptr %563, align 4, !alias.scope !10
  %572 = load float, ptr %564, align 4, !alias.scope !10
  %573 = load float, ptr %565, align 4, !alias.scope !10
  %574 = load float, ptr %566, align 4, !alias.scope !10
  %575 = load float, ptr %567, align 4, !alias.scope !10
  %576 = load float, ptr %568, align 4, !alias.scope !10
  %577 = load float, ptr %569, align 4, !alias.scope !10
  %578 = load float, ptr %570, align 4, !alias.scope !10
  %579 = insertelement <8 x float> poison, float %571, i64 0
  %580 = insertelement <8 x float> %579, float %572, i64 1
  %581 = insertelement <8 x float> %580, float %573, i64 2
  %582 = insertelement <8 x float> %581, float %574, i64 3
  %583 = insertelement <8 x float> %582, float %575, i64 4
  %584 = insertelement <8 x float> %583, float %576, i64 5
  %585 = insertelement <8 x float> %584, float %577, i64 6
  %586 = insertelement <8 x float> %585, float %578, i64 7
  %587 = fadd <8 x float> %586, splat (float 1.000000e+00)
  %588 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %587)
  %589 = fcmp olt <8 x float> %588, splat (float 4.000000e-04)
  %.inv18 = fcmp olt <8 x float> %587, splat (float f0xC0FFF644)
  %590 = select <8 x i1> %.inv18, <8 x float> splat (float f0xC0FFF644), <8 x float> %587
  %.inv19 = fcmp ogt <8 x float> %590, splat (float f0x40FFF644)
  %591 = select <8 x i1> %.inv19, <8 x float> splat (float f0x40FFF644), <8 x float> %590
  %592 = fmul <8 x float> %591, %591
  %593 = fmul <8 x float> %592, splat (float f0xA59F25C0)
  %594 = fadd <8 x float> %593, splat (float f0x2A61337E)
  %595 = fmul <8 x float> %592, %594
  %596 = fadd <8 x float> %595, splat (float f0xAEBD37FF)
  %597 = fmul <8 x float> %592, %596
  %598 = fadd <8 x float> %597, splat (float f0x335C0041)
  %599 = fmul <8 x float> %592, %598
  %600 = fadd <8 x float> %599, splat (float f0x3779434A)
  %601 = fmul <8 x float> %592, %600
  %602 = fadd <8 x float> %601, splat (float f0x3A270DED)
  %603 = fmul <8 x float> %592, %602
  %604 = fadd <8 x float> %603, splat (float f0x3BA059DC)
  %605 = fmul <8 x float> %591, %604
  %606 = fmul <8 x float> %592, splat (float f0x35A0D3D8)
  %607 = fadd <8 x float> %606, splat (float f0x38F895D6)
  %608 = fmul <8 x float> %592, %607
  %609 = fadd <8 x float> %608, splat (float f0x3B14AA05)
  %610 = fmul <8 x float> %592, %609
  %611 = fadd <8 x float> %610, splat (float f0x3BA059DD)
  %612 = fdiv <8 x float> %605, %611
  %613 = select <8 x i1> %589, <8 x float> %587, <8 x float> %612
  %614 = fcmp oge <8 x float> %588, splat (float 2.000000e+01)
  %615 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %587)
  %616 = select <8 x i1> %614, <8 x float> %615, <8 x float> %613
  %617 = extractelement <8 x float> %616, i64 0
  %618 = extractelement <8 x float> %616, i64 1
  %619 = extractelement <8 x float> %616, i64 2
  %620 = extractelement <8 x float> %616, i64 3
  %621 = extractelement <8 x float> %616, i64 4
  %622 = extractelement <8 x float> %616, i64 5
  %623 = extractelement <8 x float> %616, i64 6
  %624 = extractelement <8 x float> %616, i64 7
  store float %617, ptr %563, align 4, !alias.scope !10
  store float %618, ptr %564, align 4, !alias.scope !10
  store float %619, ptr %565, align 4, !alias.scope !10
  store float %620, ptr %566, align 4, !alias.scope !10
  store float %621, ptr %567, align 4, !alias.scope !10
  store float %622, ptr %568, align 4, !alias.scope !10
  store float %623, ptr %569, align 4, !alias.scope !10
  store float %624, ptr %570, align 4, !alias.scope !10
  %625 = getelementptr i8, ptr %5, i64 40
  %626 = getelementptr i8, ptr %5, i64 104
  %627 = getelementptr i8, ptr %5, i64 168
  %628 = getelementptr i8, ptr %5, i64 232
  %629 = getelementptr i8, ptr %5, i64 296
  %630 = getelementptr i8, ptr %5, i64 360
  %631 = getelementptr i8, ptr %5, i64 424
  %632 = getelementptr i8, ptr %5, i64 488
  %633 = load float, ptr %625, align 4, !alias.scope !10
  %634 = load float, ptr %626, align 4, !alias.scope !10
  %635 = load float, ptr %627, align 4, !alias.scope !10
  %636 = load float, ptr %628, align 4, !alias.scope !10
  %637 = load float, ptr %629, align 4, !alias.scope !10
  %638 = load float, ptr %630, align 4, !alias.scope !10
  %639 = load float, ptr %631, align 4, !alias.scope !10
  %640 = load float, ptr %632, align 4, !alias.scope !10
  %641 = insertelement <8 x float> poison, float %633, i64 0
  %642 = insertelement <8 x float> %641, float %634, i64 1
  %643 = insertelement <8 x float> %642, float %635, i64 2
  %644 = insertelement <8 x float> %643, float %636, i64 3
  %645 = insertelement <8 x float> %644, float %637, i64 4
  %646 = insertelement <8 x float> %645, float %638, i64 5
  %647 = insertelement <8 x float> %646, float %639, i64 6
  %648 = insertelement <8 x float> %647, float %640, i64 7
  %649 = fadd <8 x float> %648, splat (float 1.000000e+00)
  %650 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %649)
  %651 = fcmp olt <8 x float> %650, splat (float 4.000000e-04)
  %.inv20 = fcmp olt <8 x float> %649, splat (float f0xC0FFF644)
  %652 = select <8 x i1> %.inv20, <8 x float> splat (float f0xC0FFF644), <8 x float> %649
  %.inv21 = fcmp ogt <8 x float> %652, splat (float f0x40FFF644)
  %653 = select <8 x i1> %.inv21, <8 x float> splat (float f0x40FFF644), <8 x float> %652
  %654 = fmul <8 x float> %653, %653
  %655 = fmul <8 x float> %654, splat (float f0xA59F25C0)
  %656 = fadd <8 x float> %655, splat (float f0x2A61337E)
  %657 = fmul <8 x float> %654, %656
  %658 = fadd <8 x float> %657, splat (float f0xAEBD37FF)
  %659 = fmul <8 x float> %654, %658
  %660 = fadd <8 x float> %659, splat (float f0x335C0041)
  %661 = fmul <8 x float> %654, %660
  %662 = fadd <8 x float> %661, splat (float f0x3779434A)
  %663 = fmul <8 x float> %654, %662
  %664 = fadd <8 x float> %663, splat (float f0x3A270DED)
  %665 = fmul <8 x float> %654, %664
  %666 = fadd <8 x float> %665, splat (float f0x3BA059DC)
  %667 = fmul <8 x float> %653, %666
  %668 = fmul <8 x float> %654, splat (float f0x35A0D3D8)
  %669 = fadd <8 x float> %668, splat (float f0x38F895D6)
  %670 = fmul <8 x float> %654, %669
  %671 = fadd <8 x float> %670, splat (float f0x3B14AA05)
  %672 = fmul <8 x float> %654, %671
  %673 = fadd <8 x float> %672, splat (float f0x3BA059DD)
  %674 = fdiv <8 x float> %667, %673
  %675 = select <8 x i1> %651, <8 x float> %649, <8 x float> %674
  %676 = fcmp oge <8 x float> %650, splat (float 2.000000e+01)
  %677 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %649)
  %678 = select <8 x i1> %676, <8 x float> %677, <8 x float> %675
  %679 = extractelement <8 x float> %678, i64 0
  %680 = extractelement <8 x float> %678, i64 1
  %681 = extractelement <8 x float> %678, i64 2
  %682 = extractelement <8 x float> %678, i64 3
  %683 = extractelement <8 x float> %678, i64 4
  %684 = extractelement <8 x float> %678, i64 5
  %685 = extractelement <8 x float> %678, i64 6
  %686 = extractelement <8 x float> %678, i64 7
  store float %679, ptr %625, align 4, !alias.scope !10
  store float %680, ptr %626, align 4, !alias.scope !10
  store float %681, ptr %627, align 4, !alias.scope !10
  store float %682, ptr %628, align 4, !alias.scope !10
  store float %683, ptr %629, align 4, !alias.scope !10
  store float %684, ptr %630, align 4, !alias.scope !10
  store float %685, ptr %631, align 4, !alias.scope !10
  store float %686, ptr %632, align 4, !alias.scope !10
  %687 = getelementptr i8, ptr %5, i64 44
  %688 = getelementptr i8, ptr %5, i64 108
  %689 = getelementptr i8, ptr %5, i64 172
  %690 = getelementptr i8, ptr %5, i64 236
  %691 = getelementptr i8, ptr %5, i64 300
  %692 = getelementptr i8, ptr %5, i64 364
  %693 = getelementptr i8, ptr %5, i64 428
  %694 = getelementptr i8, ptr %5, i64 492
  %695 = load float, ptr %687, align 4, !alias.scope !10
  %696 = load float, ptr %688, align 4, !alias.scope !10
  %697 = load float, ptr %689, align 4, !alias.scope !10
  %698 = load float, ptr %690, align 4, !alias.scope !10
  %699 = load float, ptr %691, align 4, !alias.scope !10
  %700 = load float, ptr %692, align 4, !alias.scope !10
  %701 = load float, ptr %693, align 4, !alias.scope !10
  %702 = load float, ptr %694, align 4, !alias.scope !10
  %703 = insertelement <8 x float> poison, float %695, i64 0
  %704 = insertelement <8 x float> %703, float %696, i64 1
  %705 = insertelement <8 x float> %704, float %697, i64 2
  %706 = insertelement <8 x float> %705, float %698, i64 3
  %707 = insertelement <8 x float> %706, float %699, i64 4
  %708 = insertelement <8 x float> %707, float %700, i64 5
  %709 = insertelement <8 x float> %708, float %701, i64 6
  %710 = insertelement <8 x float> %709, float %702, i64 7
  %711 = fadd <8 x float> %710, splat (float 1.000000e+00)
  %712 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %711)
  %713 = fcmp olt <8 x float> %712, splat (float 4.000000e-04)
  %.inv22 = fcmp olt <8 x float> %711, splat (float f0xC0FFF644)
  %714 = select <8 x i1> %.inv22, <8 x float> splat (float f0xC0FFF644), <8 x float> %711
  %.inv23 = fcmp ogt <8 x float> %714, splat (float f0x40FFF644)
  %715 = select <8 x i1> %.inv23, <8 x float> splat (float f0x40FFF644), <8 x float> %714
  %716 = fmul <8 x float> %715, %715
  %717 = fmul <8 x float> %716, splat (float f0xA59F25C0)
  %718 = fadd <8 x float> %717, splat (float f0x2A61337E)
  %719 = fmul <8 x float> %716, %718
  %720 = fadd <8 x float> %719, splat (float f0xAEBD37FF)
  %721 = fmul <8 x float> %716, %720
  %722 = fadd <8 x float> %721, splat (float f0x335C0041)
  %723 = fmul <8 x float> %716, %722
  %724 = fadd <8 x float> %723, splat (float f0x3779434A)
  %725 = fmul <8 x float> %716, %724
  %726 = fadd <8 x float> %725, splat (float f0x3A270DED)
  %727 = fmul <8 x float> %716, %726
  %728 = fadd <8 x float> %727, splat (float f0x3BA059DC)
  %729 = fmul <8 x float> %715, %728
  %730 = fmul <8 x float> %716, splat (float f0x35A0D3D8)
  %731 = fadd <8 x float> %730, splat (float f0x38F895D6)
  %732 = fmul <8 x float> %716, %731
  %733 = fadd <8 x float> %732, splat (float f0x3B14AA05)
  %734 = fmul <8 x float> %716, %733
  %735 = fadd <8 x float> %734, splat (float f0x3BA059DD)
  %736 = fdiv <8 x float> %729, %735
  %737 = select <8 x i1> %713, <8 x float> %711, <8 x float> %736
  %738 = fcmp oge <8 x float> %712, splat (float 2.000000e+01)
  %739 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %711)
  %740 = select <8 x i1> %738, <8 x float> %739, <8 x float> %737
  %741 = extractelement <8 x float> %740, i64 0
  %742 = extractelement <8 x float> %740, i64 1
  %743 = extractelement <8 x float> %740, i64 2
  %744 = extractelement <8 x float> %740, i64 3
  %745 = extractelement <8 x float> %740, i64 4
  %746 = extractelement <8 x float> %740, i64 5
  %747 = extractelement <8 x float> %740, i64 6
  %748 = extractelement <8 x float> %740, i64 7
  store float %741, ptr %687, align 4, !alias.scope !10
  store float %742, ptr %688, align 4, !alias.scope !10
  store float %743, ptr %689, align 4, !alias.scope !10
  store float %744, ptr %690, align 4, !alias.scope !10
  store float %745, ptr %691, align 4, !alias.scope !10
  store float %746, ptr %692, align 4, !alias.scope !10
  store float %747, ptr %693, align 4, !alias.scope !10
  store float %748, ptr %694, align 4, !alias.scope !10
  %749 = getelementptr i8, ptr %5, i64 48
  %750 = getelementptr i8, ptr %5, i64 112
  %751 = getelementptr i8, ptr %5, i64 176
  %752 = getelementptr i8, ptr %5, i64 240
  %753 = getelementptr i8, ptr %5, i64 304
  %754 = getelementptr i8, ptr %5, i64 368
  %755 = getelementptr i8, ptr %5, i64 432
  %756 = getelementptr i8, ptr %5, i64 496
  %757 = load float, ptr %749, align 4, !alias.scope !10
  %758 = load float, ptr %750, align 4, !alias.scope !10
  %759 = load float, ptr %751, align 4, !alias.scope !10
  %760 = load float, ptr %752, align 4, !alias.scope !10
  %761 = load float, ptr %753, align 4, !alias.scope !10
  %762 = load float, ptr %754, align 4, !alias.scope !10
  %763 = load float, ptr %755, align 4, !alias.scope !10
  %764 = load float, ptr %756, align 4, !alias.scope !10
  %765 = insertelement <8 x float> poison, float %757, i64 0
  %766 = insertelement <8 x float> %765, float %758, i64 1
  %767 = insertelement <8 x float> %766, float %759, i64 2
  %768 = insertelement <8 x float> %767, float %760, i64 3
  %769 = insertelement <8 x float> %768, float %761, i64 4
  %770 = insertelement <8 x float> %769, float %762, i64 5
  %771 = insertelement <8 x float> %770, float %763, i64 6
  %772 = insertelement <8 x float> %771, float %764, i64 7
  %773 = fadd <8 x float> %772, splat (float 1.000000e+00)
  %774 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %773)
  %775 = fcmp olt <8 x float> %774, splat (float 4.000000e-04)
  %.inv24 = fcmp olt <8 x float> %773, splat (float f0xC0FFF644)
  %776 = select <8 x i1> %.inv24, <8 x float> splat (float f0xC0FFF644), <8 x float> %773
  %.inv25 = fcmp ogt <8 x float> %776, splat (float f0x40FFF644)
  %777 = select <8 x i1> %.inv25, <8 x float> splat (float f0x40FFF644), <8 x float> %776
  %778 = fmul <8 x float> %777, %777
  %779 = fmul <8 x float> %778, splat (float f0xA59F25C0)
  %780 = fadd <8 x float> %779, splat (float f0x2A61337E)
  %781 = fmul <8 x float> %778, %780
  %782 = fadd <8 x float> %781, splat (float f0xAEBD37FF)
  %783 = fmul <8 x float> %778, %782
  %784 = fadd <8 x float> %783, splat (float f0x335C0041)
  %785 = fmul <8 x float> %778, %784
  %786 = fadd <8 x float> %785, splat (float f0x3779434A)
  %787 = fmul <8 x float> %778, %786
  %788 = fadd <8 x float> %787, splat (float f0x3A270DED)
  %789 = fmul <8 x float> %778, %788
  %790 = fadd <8 x float> %789, splat (float f0x3BA059DC)
  %791 = fmul <8 x float> %777, %790
  %792 = fmul <8 x float> %778, splat (float f0x35A0D3D8)
  %793 = fadd <8 x float> %792, splat (float f0x38F895D6)
  %794 = fmul <8 x float> %778, %793
  %795 = fadd <8 x float> %794, splat (float f0x3B14AA05)
  %796 = fmul <8 x float> %778, %795
  %797 = fadd <8 x float> %796, splat (float f0x3BA059DD)
  %798 = fdiv <8 x float> %791, %797
  %799 = select <8 x i1> %775, <8 x float> %773, <8 x float> %798
  %800 = fcmp oge <8 x float> %774, splat (float 2.000000e+01)
  %801 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %773)
  %802 = select <8 x i1> %800, <8 x float> %801, <8 x float> %799
  %803 = extractelement <8 x float> %802, i64 0
  %804 = extractelement <8 x float> %802, i64 1
  %805 = extractelement <8 x float> %802, i64 2
  %806 = extractelement <8 x float> %802, i64 3
  %807 = extractelement <8 x float> %802, i64 4
  %808 = extractelement <8 x float> %802, i64 5
  %809 = extractelement <8 x float> %802, i64 6
  %810 = extractelement <8 x float> %802, i64 7
  store float %803, ptr %749, align 4, !alias.scope !10
  store float %804, ptr %750, align 4, !alias.scope !10
  store float %805, ptr %751, align 4, !alias.scope !10
  store float %806, ptr %752, align 4, !alias.scope !10
  store float %807, ptr %753, align 4, !alias.scope !10
  store float %808, ptr %754, align 4, !alias.scope !10
  store float %809, ptr %755, align 4, !alias.scope !10
  store float %810, ptr %756, align 4, !alias.scope !10
  %811 = getelementptr i8, ptr %5, i64 52
  %812 = getelementptr i8, ptr %5, i64 116
  %813 = getelementptr i8, ptr %5, i64 180
  %814 = getelementptr i8, ptr %5, i64 244
  %815 = getelementptr i8, ptr %5, i64 308
  %816 = getelementptr i8, ptr %5, i64 372
  %817 = getelementptr i8, ptr %5, i64 436
  %818 = getelementptr i8, ptr %5, i64 500
  %819 = load float, ptr %811, align 4, !alias.scope !10
  %820 = load float, ptr %812, align 4, !alias.scope !10
  %821 = load float, ptr %813, align 4, !alias.scope !10
  %822 = load float, ptr %814, align 4, !alias.scope !10
  %823 = load float, ptr %815, align 4, !alias.scope !10
  %824 = load float, ptr %816, align 4, !alias.scope !10
  %825 = load float, ptr %817, align 4, !alias.scope !10
  %826 = load float, ptr %818, align 4, !alias.scope !10
  %827 = insertelement <8 x float> poison, float %819, i64 0
  %828 = insertelement <8 x float> %827, float %820, i64 1
  %829 = insertelement <8 x float> %828, float %821, i64 2
  %830 = insertelement <8 x float> %829, float %822, i64 3
  %831 = insertelement <8 x float> %830, float %823, i64 4
  %832 = insertelement <8 x float> %831, float %824, i64 5
  %833 = insertelement <8 x float> %832, float %825, i64 6
  %834 = insertelement <8 x float> %833, float %826, i64 7
  %835 = fadd <8 x float> %834, splat (float 1.000000e+00)
  %836 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %835)
  %837 = fcmp olt <8 x float> %836, splat (float 4.000000e-04)
  %.inv26 = fcmp olt <8 x float> %835, splat (float f0xC0FFF644)
  %838 = select <8 x i1> %.inv26, <8 x float> splat (float f0xC0FFF644), <8 x float> %835
  %.inv27 = fcmp ogt <8 x float> %838, splat (float f0x40FFF644)
  %839 = select <8 x i1> %.inv27, <8 x float> splat (float f0x40FFF644), <8 x float> %838
  %840 = fmul <8 x float> %839, %839
  %841 = fmul <8 x float> %840, splat (float f0xA59F25C0)
  %842 = fadd <8 x float> %841, splat (float f0x2A61337E)
  %843 = fmul <8 x float> %840, %842
  %844 = fadd <8 x float> %843, splat (float f0xAEBD37FF)
  %845 = fmul <8 x float> %840, %844
  %846 = fadd <8 x float> %845, splat (float f0x335C0041)
  %847 = fmul <8 x float> %840, %846
  %848 = fadd <8 x float> %847, splat (float f0x3779434A)
  %849 = fmul <8 x float> %840, %848
  %850 = fadd <8 x float> %849, splat (float f0x3A270DED)
  %851 = fmul <8 x float> %840, %850
  %852 = fadd <8 x float> %851, splat (float f0x3BA059DC)
  %853 = fmul <8 x float> %839, %852
  %854 = fmul <8 x float> %840, splat (float f0x35A0D3D8)
  %855 = fadd <8 x float> %854, splat (float f0x38F895D6)
  %856 = fmul <8 x float> %840, %855
  %857 = fadd <8 x float> %856, splat (float f0x3B14AA05)
  %858 = fmul <8 x float> %840, %857
  %859 = fadd <8 x float> %858, splat (float f0x3BA059DD)
  %860 = fdiv <8 x float> %853, %859
  %861 = select <8 x i1> %837, <8 x float> %835, <8 x float> %860
  %862 = fcmp oge <8 x float> %836, splat (float 2.000000e+01)
  %863 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %835)
  %864 = select <8 x i1> %862, <8 x float> %863, <8 x float> %861
  %865 = extractelement <8 x float> %864, i64 0
  %866 = extractelement <8 x float> %864, i64 1
  %867 = extractelement <8 x float> %864, i64 2
  %868 = extractelement <8 x float> %864, i64 3
  %869 = extractelement <8 x float> %864, i64 4
  %870 = extractelement <8 x float> %864, i64 5
  %871 = extractelement <8 x float> %864, i64 6
  %872 = extractelement <8 x float> %864, i64 7
  store float %865, ptr %811, align 4, !alias.scope !10
  store float %866, ptr %812, align 4, !alias.scope !10
  store float %867, ptr %813, align 4, !alias.scope !10
  store float %868, ptr %814, align 4, !alias.scope !10
  store float %869, ptr %815, align 4, !alias.scope !10
  store float %870, ptr %816, align 4, !alias.scope !10
  store float %871, ptr %817, align 4, !alias.scope !10
  store float %872, ptr %818, align 4, !alias.scope !10
  %873 = getelementptr i8, ptr %5, i64 56
  %874 = getelementptr i8, ptr %5, i64 120
  %875 = getelementptr i8, ptr %5, i64 184
  %876 = getelementptr i8, ptr %5, i64 248
  %877 = getelementptr i8, ptr %5, i64 312
  %878 = getelementptr i8, ptr %5, i64 376
  %879 = getelementptr i8, ptr %5, i64 440
  %880 = getelementptr i8, ptr %5, i64 504
  %881 = load float, ptr %873, align 4, !alias.scope !10
  %882 = load float, ptr %874, align 4, !alias.scope !10
  %883 = load float, ptr %875, align 4, !alias.scope !10
  %884 = load float, ptr %876, align 4, !alias.scope !10
  %885 = load float, ptr %877, align 4, !alias.scope !10
  %886 = load float, ptr %878, align 4, !alias.scope !10
  %887 = load float, ptr %879, align 4, !alias.scope !10
  %888 = load float, ptr %880, align 4, !alias.scope !10
  %889 = insertelement <8 x float> poison, float %881, i64 0
  %890 = insertelement <8 x float> %889, float %882, i64 1
  %891 = insertelement <8 x float> %890, float %883, i64 2
  %892 = insertelement <8 x float> %891, float %884, i64 3
  %893 = insertelement <8 x float> %892, float %885, i64 4
  %894 = insertelement <8 x float> %893, float %886, i64 5
  %895 = insertelement <8 x float> %894, float %887, i64 6
  %896 = insertelement <8 x float> %895, float %888, i64 7
  %897 = fadd <8 x float> %896, splat (float 1.000000e+00)
  %898 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %897)
  %899 = fcmp olt <8 x float> %898, splat (float 4.000000e-04)
  %.inv28 = fcmp olt <8 x float> %897, splat (float f0xC0FFF644)
  %900 = select <8 x i1> %.inv28, <8 x float> splat (float f0xC0FFF644), <8 x float> %897
  %.inv29 = fcmp ogt <8 x float> %900, splat (float f0x40FFF644)
  %901 = select <8 x i1> %.inv29, <8 x float> splat (float f0x40FFF644), <8 x float> %900
  %902 = fmul <8 x float> %901, %901
  %903 = fmul <8 x float> %902, splat (float f0xA59F25C0)
  %904 = fadd <8 x float> %903, splat (float f0x2A61337E)
  %905 = fmul <8 x float> %902, %904
  %906 = fadd <8 x float> %905, splat (float f0xAEBD37FF)
  %907 = fmul <8 x float> %902, %906
  %908 = fadd <8 x float> %907, splat (float f0x335C0041)
  %909 = fmul <8 x float> %902, %908
  %910 = fadd <8 x float> %909, splat (float f0x3779434A)
  %911 = fmul <8 x float> %902, %910
  %912 = fadd <8 x float> %911, splat (float f0x3A270DED)
  %913 = fmul <8 x float> %902, %912
  %914 = fadd <8 x float> %913, splat (float f0x3BA059DC)
  %915 = fmul <8 x float> %901, %914
  %916 = fmul <8 x float> %902, splat (float f0x35A0D3D8)
  %917 = fadd <8 x float> %916, splat (float f0x38F895D6)
  %918 = fmul <8 x float> %902, %917
  %919 = fadd <8 x float> %918, splat (float f0x3B14AA05)
  %920 = fmul <8 x float> %902, %919
  %921 = fadd <8 x float> %920, splat (float f0x3BA059DD)
  %922 = fdiv <8 x float> %915, %921
  %923 = select <8 x i1> %899, <8 x float> %897, <8 x float> %922
  %924 = fcmp oge <8 x float> %898, splat (float 2.000000e+01)
  %925 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %897)
  %926 = select <8 x i1> %924, <8 x float> %925, <8 x float> %923
  %927 = extractelement <8 x float> %926, i64 0
  %928 = extractelement <8 x float> %926, i64 1
  %929 = extractelement <8 x float> %926, i64 2
  %930 = extractelement <8 x float> %926, i64 3
  %931 = extractelement <8 x float> %926, i64 4
  %932 = extractelement <8 x float> %926, i64 5
  %933 = extractelement <8 x float> %926, i64 6
  %934 = extractelement <8 x float> %926, i64 7
  store float %927, ptr %873, align 4, !alias.scope !10
  store float %928, ptr %874, align 4, !alias.scope !10
  store float %929, ptr %875, align 4, !alias.scope !10
  store float %930, ptr %876, align 4, !alias.scope !10
  store float %931, ptr %877, align 4, !alias.scope !10
  store float %932, ptr %878, align 4, !alias.scope !10
  store float %933, ptr %879, align 4, !alias.scope !10
  store float %934, ptr %880, align 4, !alias.scope !10
  %935 = getelementptr i8, ptr %5, i64 60
  %936 = getelementptr i8, ptr %5, i64 124
  %937 = getelementptr i8, ptr %5, i64 188
  %938 = getelementptr i8, ptr %5, i64 252
  %939 = getelementptr i8, ptr %5, i64 316
  %940 = getelementptr i8, ptr %5, i64 380
  %941 = getelementptr i8, ptr %5, i64 444
  %942 = getelementptr i8, ptr %5, i64 508
  %943 = load float, ptr %935, align 4, !alias.scope !10
  %944 = load float, ptr %936, align 4, !alias.scope !10
  %945 = load float, ptr %937, align 4, !alias.scope !10
  %946 = load float, ptr %938, align 4, !alias.scope !10
  %947 = load float, ptr %939, align 4, !alias.scope !10
  %948 = load float, ptr %940, align 4, !alias.scope !10
  %949 = load float, ptr %941, align 4, !alias.scope !10
  %950 = load float, ptr %942, align 4, !alias.scope !10
  %951 = insertelement <8 x float> poison, float %943, i64 0
  %952 = insertelement <8 x float> %951, float %944, i64 1
  %953 = insertelement <8 x float> %952, float %945, i64 2
  %954 = insertelement <8 x float> %953, float %946, i64 3
  %955 = insertelement <8 x float> %954, float %947, i64 4
  %956 = insertelement <8 x float> %955, float %948, i64 5
  %957 = insertelement <8 x float> %956, float %949, i64 6
  %958 = insertelement <8 x float> %957, float %950, i64 7
  %959 = fadd <8 x float> %958, splat (float 1.000000e+00)
  %960 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %959)
  %961 = fcmp olt <8 x float> %960, splat (float 4.000000e-04)
  %.inv30 = fcmp olt <8 x float> %959, splat (float f0xC0FFF644)
  %962 = select <8 x i1> %.inv30, <8 x float> splat (float f0xC0FFF644), <8 x float> %959
  %.inv31 = fcmp ogt <8 x float> %962, splat (float f0x40FFF644)
  %963 = select <8 x i1> %.inv31, <8 x float> splat (float f0x40FFF644), <8 x float> %962
  %964 = fmul <8 x float> %963, %963
  %965 = fmul <8 x float> %964, splat (float f0xA59F25C0)
  %966 = fadd <8 x float> %965, splat (float f0x2A61337E)
  %967 = fmul <8 x float> %964, %966
  %968 = fadd <8 x float> %967, splat (float f0xAEBD37FF)
  %969 = fmul <8 x float> %964, %968
  %970 = fadd <8 x float> %969, splat (float f0x335C0041)
  %971 = fmul <8 x float> %964, %970
  %972 = fadd <8 x float> %971, splat (float f0x3779434A)
  %973 = fmul <8 x float> %964, %972
  %974 = fadd <8 x float> %973, splat (float f0x3A270DED)
  %975 = fmul <8 x float> %964, %974
  %976 = fadd <8 x float> %975, splat (float f0x3BA059DC)
  %977 = fmul <8 x float> %963, %976
  %978 = fmul <8 x float> %964, splat (float f0x35A0D3D8)
  %979 = fadd <8 x float> %978, splat (float f0x38F895D6)
  %980 = fmul <8 x float> %964, %979
  %981 = fadd <8 x float> %980, splat (float f0x3B14AA05)
  %982 = fmul <8 x float> %964, %981
  %983 = fadd <8 x float> %982, splat (float f0x3BA059DD)
  %984 = fdiv <8 x float> %977, %983
  %985 = select <8 x i1> %961, <8 x float> %959, <8 x float> %984
  %986 = fcmp oge <8 x float> %960, splat (float 2.000000e+01)
  %987 = call <8 x float> @llvm.copysign.v8f32(<8 x float> splat (float 1.000000e+00), <8 x float> %959)
  %988 = select <8 x i1> %986, <8 x float> %987, <8 x float> %985
  %989 = extractelement <8 x float> %988, i64 0
  %990 = extractelement <8 x float> %988, i64 1
  %991 = extractelement <8 x float> %988, i64 2
  %992 = extractelement <8 x float> %988, i64 3
  %993 = extractelement <8 x float> %988, i64 4
  %994 = extractelement <8 x float> %988, i64 5
  %995 = extractelement <8 x float> %988, i64 6
  %996 = extractelement <8 x float> %988, i64 7
  store float %989, ptr %935, align 4, !alias.scope !10
  store float %990, ptr %936, align 4, !alias.scope !10
  store float %991, ptr %937, align 4, !alias.scope !10
  store float %992, ptr %938, align 4, !alias.scope !10
  store float %993, ptr %939, align 4, !alias.scope !10
  store float %994, ptr %940, align 4, !alias.scope !10
  store float %995, ptr %941, align 4, !alias.scope !10
  store float %996, ptr %942, align 4, !alias.scope !10
  %index.next = add nuw i64 %index, 8
  %997 = icmp eq i64 %index.next, 32
  br i1 %997, label %add_tanh_fusion_wrapped.exit, label %vector.body, !llvm.loop !13

add_tanh_fusion_wrapped.exit:                     ; preds = %vector.body
  ret ptr null
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

attributes #0 = { uwtable "frame-pointer"="all" "prefer-vector-width"="256" }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2, !3, !4, !5}
!xla_cpu_memory_region_name = !{!6}
!llvm.ident = !{!7}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"xla_dylib_index", i64 0}
!2 = !{i32 1, !"wchar_size", i32 4}
!3 = !{i32 8, !"PIC Level", i32 0}
!4 = !{i32 7, !"uwtable", i32 2}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = !{!"xla_cpu_emitter__loop_fusion_kernel_emitter__hlo_opcode__fusion"}
!7 = !{!"clang version 18.1.8"}
!8 = !{}
!9 = !{i64 2048}
!10 = !{!11}
!11 = distinct !{!11, !12, !"add_tanh_fusion_wrapped: argument 0"}
!12 = distinct !{!12, !"add_tanh_fusion_wrapped"}
!13 = distinct !{!13, !14, !15, !16}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = !{!"llvm.loop.isvectorized", i32 1}
!16 = !{!"llvm.loop.unroll.runtime.disable"}
