; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external addrspace(3) global [0 x i8], align 16

declare float @__nv_tanhf(float)

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #0

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32, i32, i32) #3

; Function Attrs: convergent nocallback nounwind memory(argmem: read)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: convergent nocallback nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #4

define ptx_kernel void @gemm_fusion_dot_general_1(ptr noalias align 16 dereferenceable(8192) %arg0, ptr noalias align 16 dereferenceable(4096) %arg1, ptr noalias align 256 dereferenceable(2048) %arg2) #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  %4 = addrspacecast ptr null to ptr addrspace(1)
  %5 = addrspacecast ptr null to ptr addrspace(1)
  call void @llvm.nvvm.griddepcontrol.wait()
  %6 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %7 = sext i32 %6 to i64
  %8 = udiv i64 %7, 2
  %9 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %10 = and i32 %9, 63
  %11 = urem i32 %10, 32
  %12 = udiv i32 %9, 32
  %13 = shl i32 %11, 0
  %14 = or i32 0, %13
  %15 = shl i32 %12, 5
  %16 = or i32 %14, %15
  %17 = and i32 %16, 60
  %18 = lshr i32 %17, 2
  %19 = or disjoint i32 %18, 0
  %20 = xor i32 0, %19
  %21 = xor i32 %20, 0
  %22 = add i32 %21, 0
  %23 = and i32 %16, 3
  %24 = shl i32 %23, 2
  %25 = or disjoint i32 %24, 0
  %26 = xor i32 0, %25
  %27 = xor i32 %26, 0
  %28 = add i32 %27, 0
  %29 = sext i32 %22 to i64
  %30 = sext i32 %28 to i64
  %31 = mul i64 %29, 64
  %32 = add i64 %30, %31
  %33 = mul i64 %8, 1024
  %34 = urem i64 %7, 2
  %35 = mul i64 %34, 8
  %36 = mul i64 %29, 16
  %37 = shl i32 %23, 1
  %38 = or disjoint i32 %37, 0
  %39 = xor i32 0, %38
  %40 = xor i32 %39, 0
  %41 = add i32 %40, 0
  %42 = sext i32 %41 to i64
  %43 = add i64 %42, %36
  br label %44

44:                                               ; preds = %48, %0
  %45 = phi i32 [ %255, %48 ], [ 0, %0 ]
  %46 = phi { float, float, float, float } [ %254, %48 ], [ zeroinitializer, %0 ]
  %47 = icmp slt i32 %45, 4
  br i1 %47, label %48, label %256

48:                                               ; preds = %44
  %49 = sext i32 %45 to i64
  %50 = mul i64 %49, 16
  %51 = add i64 %50, %33
  %52 = getelementptr float, ptr addrspace(1) %1, i64 %51
  %53 = getelementptr float, ptr addrspace(1) %52, i64 %32
  %54 = call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; mov.u32 $2, 0x0; mov.u32 $3, 0x0; ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %53)
  %55 = extractvalue { i32, i32, i32, i32 } %54, 0
  %56 = bitcast i32 %55 to <1 x float>
  %57 = extractvalue { i32, i32, i32, i32 } %54, 1
  %58 = bitcast i32 %57 to <1 x float>
  %59 = extractvalue { i32, i32, i32, i32 } %54, 2
  %60 = bitcast i32 %59 to <1 x float>
  %61 = extractvalue { i32, i32, i32, i32 } %54, 3
  %62 = bitcast i32 %61 to <1 x float>
  %63 = extractelement <1 x float> %56, i32 0
  %64 = extractelement <1 x float> %58, i32 0
  %65 = extractelement <1 x float> %60, i32 0
  %66 = extractelement <1 x float> %62, i32 0
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %67 = and i32 %16, 63
  %68 = shl i32 %67, 4
  %69 = and i32 %16, 24
  %70 = shl i32 %69, 1
  %71 = xor i32 %68, %70
  %72 = or disjoint i32 0, %71
  %73 = xor i32 0, %72
  %74 = xor i32 %73, 0
  %75 = xor i32 %74, 0
  %76 = add i32 %75, 0
  %77 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %76
  %78 = insertelement <4 x float> undef, float %63, i32 0
  %79 = insertelement <4 x float> %78, float %64, i32 1
  %80 = insertelement <4 x float> %79, float %65, i32 2
  %81 = insertelement <4 x float> %80, float %66, i32 3
  %82 = extractelement <4 x float> %81, i32 0
  %83 = extractelement <4 x float> %81, i32 1
  %84 = extractelement <4 x float> %81, i32 2
  %85 = extractelement <4 x float> %81, i32 3
  %86 = bitcast float %82 to i32
  %87 = bitcast float %83 to i32
  %88 = bitcast float %84 to i32
  %89 = bitcast float %85 to i32
  %90 = insertelement <4 x i32> undef, i32 %86, i32 0
  %91 = insertelement <4 x i32> %90, i32 %87, i32 1
  %92 = insertelement <4 x i32> %91, i32 %88, i32 2
  %93 = insertelement <4 x i32> %92, i32 %89, i32 3
  store <4 x i32> %93, ptr addrspace(3) %77, align 16
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %94 = and i32 %16, 15
  %95 = shl i32 %94, 6
  %96 = and i32 %16, 6
  %97 = shl i32 %96, 3
  %98 = and i32 %16, 16
  %99 = xor i32 %97, %98
  %100 = or disjoint i32 %95, %99
  %101 = xor i32 0, %100
  %102 = xor i32 %101, 0
  %103 = xor i32 %102, 0
  %104 = add i32 %103, 0
  %105 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %104
  %106 = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %105)
  %107 = extractvalue { i32, i32, i32, i32 } %106, 0
  %108 = bitcast i32 %107 to <1 x float>
  %109 = extractelement <1 x float> %108, i32 0
  %110 = extractvalue { i32, i32, i32, i32 } %106, 1
  %111 = bitcast i32 %110 to <1 x float>
  %112 = extractelement <1 x float> %111, i32 0
  %113 = extractvalue { i32, i32, i32, i32 } %106, 2
  %114 = bitcast i32 %113 to <1 x float>
  %115 = extractelement <1 x float> %114, i32 0
  %116 = extractvalue { i32, i32, i32, i32 } %106, 3
  %117 = bitcast i32 %116 to <1 x float>
  %118 = extractelement <1 x float> %117, i32 0
  %119 = xor i32 %102, 32
  %120 = add i32 %119, 0
  %121 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %120
  %122 = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %121)
  %123 = extractvalue { i32, i32, i32, i32 } %122, 0
  %124 = bitcast i32 %123 to <1 x float>
  %125 = extractelement <1 x float> %124, i32 0
  %126 = extractvalue { i32, i32, i32, i32 } %122, 1
  %127 = bitcast i32 %126 to <1 x float>
  %128 = extractelement <1 x float> %127, i32 0
  %129 = extractvalue { i32, i32, i32, i32 } %122, 2
  %130 = bitcast i32 %129 to <1 x float>
  %131 = extractelement <1 x float> %130, i32 0
  %132 = extractvalue { i32, i32, i32, i32 } %122, 3
  %133 = bitcast i32 %132 to <1 x float>
  %134 = extractelement <1 x float> %133, i32 0
  %135 = mul i64 %49, 256
  %136 = add i64 %35, %135
  %137 = getelementptr float, ptr addrspace(1) %2, i64 %136
  %138 = getelementptr float, ptr addrspace(1) %137, i64 %43
  %139 = call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %138)
  %140 = extractvalue { i32, i32 } %139, 0
  %141 = bitcast i32 %140 to <1 x float>
  %142 = extractvalue { i32, i32 } %139, 1
  %143 = bitcast i32 %142 to <1 x float>
  %144 = extractelement <1 x float> %141, i32 0
  %145 = extractelement <1 x float> %143, i32 0
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %146 = shl i32 %67, 3
  %147 = or disjoint i32 %146, 0
  %148 = xor i32 0, %147
  %149 = xor i32 %148, 0
  %150 = xor i32 %149, 0
  %151 = add i32 %150, 0
  %152 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %151
  %153 = insertelement <2 x float> undef, float %144, i32 0
  %154 = insertelement <2 x float> %153, float %145, i32 1
  %155 = extractelement <2 x float> %154, i32 0
  %156 = extractelement <2 x float> %154, i32 1
  %157 = bitcast float %155 to i32
  %158 = bitcast float %156 to i32
  %159 = insertelement <2 x i32> undef, i32 %157, i32 0
  %160 = insertelement <2 x i32> %159, i32 %158, i32 1
  store <2 x i32> %160, ptr addrspace(3) %152, align 8
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %161 = shl i32 %23, 5
  %162 = and i32 %16, 28
  %163 = lshr i32 %162, 0
  %164 = xor i32 %161, %163
  %165 = or disjoint i32 0, %164
  %166 = xor i32 0, %165
  %167 = xor i32 %166, 0
  %168 = xor i32 %167, 0
  %169 = add i32 %168, 0
  %170 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %169
  %171 = load i32, ptr addrspace(3) %170, align 4
  %172 = insertelement <1 x i32> undef, i32 %171, i32 0
  %173 = extractelement <1 x i32> %172, i32 0
  %174 = bitcast i32 %173 to float
  %175 = insertelement <1 x float> undef, float %174, i32 0
  %176 = extractelement <1 x float> %175, i32 0
  %177 = add i32 %168, 128
  %178 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %177
  %179 = load i32, ptr addrspace(3) %178, align 4
  %180 = insertelement <1 x i32> undef, i32 %179, i32 0
  %181 = extractelement <1 x i32> %180, i32 0
  %182 = bitcast i32 %181 to float
  %183 = insertelement <1 x float> undef, float %182, i32 0
  %184 = extractelement <1 x float> %183, i32 0
  %185 = add i32 %168, 256
  %186 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %185
  %187 = load i32, ptr addrspace(3) %186, align 4
  %188 = insertelement <1 x i32> undef, i32 %187, i32 0
  %189 = extractelement <1 x i32> %188, i32 0
  %190 = bitcast i32 %189 to float
  %191 = insertelement <1 x float> undef, float %190, i32 0
  %192 = extractelement <1 x float> %191, i32 0
  %193 = add i32 %168, 384
  %194 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %193
  %195 = load i32, ptr addrspace(3) %194, align 4
  %196 = insertelement <1 x i32> undef, i32 %195, i32 0
  %197 = extractelement <1 x i32> %196, i32 0
  %198 = bitcast i32 %197 to float
  %199 = insertelement <1 x float> undef, float %198, i32 0
  %200 = extractelement <1 x float> %199, i32 0
  %201 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %109)
  %202 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %112)
  %203 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %115)
  %204 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %118)
  %205 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %125)
  %206 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %128)
  %207 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %131)
  %208 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %134)
  %209 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %176)
  %210 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %184)
  %211 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %192)
  %212 = call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %200)
  %213 = insertelement <1 x float> undef, float %201, i32 0
  %214 = bitcast <1 x float> %213 to i32
  %215 = insertelement <1 x float> undef, float %202, i32 0
  %216 = bitcast <1 x float> %215 to i32
  %217 = insertelement <1 x float> undef, float %203, i32 0
  %218 = bitcast <1 x float> %217 to i32
  %219 = insertelement <1 x float> undef, float %204, i32 0
  %220 = bitcast <1 x float> %219 to i32
  %221 = insertelement <1 x float> undef, float %205, i32 0
  %222 = bitcast <1 x float> %221 to i32
  %223 = insertelement <1 x float> undef, float %206, i32 0
  %224 = bitcast <1 x float> %223 to i32
  %225 = insertelement <1 x float> undef, float %207, i32 0
  %226 = bitcast <1 x float> %225 to i32
  %227 = insertelement <1 x float> undef, float %208, i32 0
  %228 = bitcast <1 x float> %227 to i32
  %229 = insertelement <1 x float> undef, float %209, i32 0
  %230 = bitcast <1 x float> %229 to i32
  %231 = insertelement <1 x float> undef, float %210, i32 0
  %232 = bitcast <1 x float> %231 to i32
  %233 = insertelement <1 x float> undef, float %211, i32 0
  %234 = bitcast <1 x float> %233 to i32
  %235 = insertelement <1 x float> undef, float %212, i32 0
  %236 = bitcast <1 x float> %235 to i32
  %237 = extractvalue { float, float, float, float } %46, 0
  %238 = extractvalue { float, float, float, float } %46, 1
  %239 = extractvalue { float, float, float, float } %46, 2
  %240 = extractvalue { float, float, float, float } %46, 3
  %241 = call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %237, float %238, float %239, float %240, i32 %214, i32 %216, i32 %218, i32 %220, i32 %230, i32 %232)
  %242 = extractvalue { float, float, float, float } %241, 0
  %243 = extractvalue { float, float, float, float } %241, 1
  %244 = extractvalue { float, float, float, float } %241, 2
  %245 = extractvalue { float, float, float, float } %241, 3
  %246 = call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %242, float %243, float %244, float %245, i32 %222, i32 %224, i32 %226, i32 %228, i32 %234, i32 %236)
  %247 = extractvalue { float, float, float, float } %246, 0
  %248 = extractvalue { float, float, float, float } %246, 1
  %249 = extractvalue { float, float, float, float } %246, 2
  %250 = extractvalue { float, float, float, float } %246, 3
  %251 = insertvalue { float, float, float, float } undef, float %247, 0
  %252 = insertvalue { float, float, float, float } %251, float %248, 1
  %253 = insertvalue { float, float, float, float } %252, float %249, 2
  %254 = insertvalue { float, float, float, float } %253, float %250, 3
  %255 = add i32 %45, 1
  br label %44

256:                                              ; preds = %44
  %257 = extractvalue { float, float, float, float } %46, 0
  %258 = extractvalue { float, float, float, float } %46, 1
  %259 = extractvalue { float, float, float, float } %46, 2
  %260 = extractvalue { float, float, float, float } %46, 3
  %261 = fadd float %257, 1.000000e+00
  %262 = fadd float %258, 1.000000e+00
  %263 = fadd float %259, 1.000000e+00
  %264 = fadd float %260, 1.000000e+00
  %265 = call float @__nv_tanhf(float %261)
  %266 = call float @__nv_tanhf(float %262)
  %267 = call float @__nv_tanhf(float %263)
  %268 = call float @__nv_tanhf(float %264)
  %269 = mul i64 %8, 256
  %270 = add i64 %35, %269
  %271 = getelementptr float, ptr addrspace(1) %3, i64 %270
  %272 = getelementptr float, ptr addrspace(1) %271, i64 %43
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %273 = and i32 %16, 7
  %274 = shl i32 %273, 4
  %275 = and i32 %16, 8
  %276 = shl i32 %275, 5
  %277 = and i32 %16, 16
  %278 = shl i32 %277, 3
  %279 = or disjoint i32 %274, %276
  %280 = or disjoint i32 %279, %278
  %281 = or disjoint i32 %280, 0
  %282 = xor i32 0, %281
  %283 = xor i32 %282, 0
  %284 = xor i32 %283, 0
  %285 = add i32 %284, 0
  %286 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %285
  %287 = insertelement <1 x float> undef, float %265, i32 0
  %288 = bitcast <1 x float> %287 to i32
  %289 = insertelement <1 x float> undef, float %266, i32 0
  %290 = bitcast <1 x float> %289 to i32
  %291 = insertelement <1 x float> undef, float %267, i32 0
  %292 = bitcast <1 x float> %291 to i32
  %293 = insertelement <1 x float> undef, float %268, i32 0
  %294 = bitcast <1 x float> %293 to i32
  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %286, i32 %288, i32 %290, i32 %292, i32 %294)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %295 = shl i32 %12, 4
  %296 = or i32 %14, %295
  %297 = and i32 %296, 7
  %298 = shl i32 %297, 4
  %299 = and i32 %296, 8
  %300 = shl i32 %299, 5
  %301 = and i32 %296, 16
  %302 = shl i32 %301, 3
  %303 = or disjoint i32 %298, %300
  %304 = or disjoint i32 %303, %302
  %305 = or disjoint i32 %304, 0
  %306 = xor i32 0, %305
  %307 = xor i32 %306, 0
  %308 = xor i32 %307, 0
  %309 = add i32 %308, 0
  %310 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i32 %309
  %311 = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %310)
  %312 = extractvalue { i32, i32 } %311, 0
  %313 = bitcast i32 %312 to <1 x float>
  %314 = extractelement <1 x float> %313, i32 0
  %315 = extractvalue { i32, i32 } %311, 1
  %316 = bitcast i32 %315 to <1 x float>
  %317 = extractelement <1 x float> %316, i32 0
  %318 = insertelement <1 x float> undef, float %314, i32 0
  %319 = bitcast <1 x float> %318 to i32
  %320 = insertelement <1 x float> undef, float %317, i32 0
  %321 = bitcast <1 x float> %320 to i32
  call void asm sideeffect "st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l"(i32 %319, i32 %321, ptr addrspace(1) %272)
  ret void
}

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { convergent nocallback nounwind memory(argmem: write) }
attributes #4 = { convergent nocallback nounwind memory(argmem: read) }
attributes #5 = { "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
