; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external addrspace(3) global [0 x i8], align 16

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #0

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32, i32, i32) #3

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_general_1(ptr noalias align 16 dereferenceable(8192) %arg0, ptr noalias align 16 dereferenceable(4096) %arg1, ptr noalias align 256 dereferenceable(2048) %arg2) local_unnamed_addr #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = lshr i64 %5, 1
  %7 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %8 = lshr i32 %7, 2
  %9 = and i32 %7, 3
  %10 = shl nuw nsw i32 %9, 2
  %11 = zext nneg i32 %8 to i64
  %12 = zext nneg i32 %10 to i64
  %13 = shl nuw nsw i64 %5, 3
  %14 = and i64 %13, 8
  %15 = shl nuw nsw i64 %11, 4
  %16 = shl nuw nsw i32 %9, 1
  %17 = zext nneg i32 %16 to i64
  %18 = or disjoint i64 %15, %17
  %.idx2 = shl nuw nsw i64 %6, 12
  %invariant.gep = getelementptr i8, ptr addrspace(1) %1, i64 %.idx2
  %.idx3 = shl nuw nsw i64 %11, 8
  %invariant.gep11 = getelementptr i8, ptr addrspace(1) %invariant.gep, i64 %.idx3
  %invariant.gep13 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep11, i64 %12
  %19 = shl nuw nsw i32 %7, 4
  %20 = shl nuw nsw i32 %7, 1
  %21 = and i32 %20, 48
  %22 = xor i32 %21, %19
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %23
  %25 = shl nuw nsw i32 %7, 6
  %26 = and i32 %25, 960
  %27 = shl nuw nsw i32 %7, 3
  %28 = and i32 %27, 48
  %29 = and i32 %7, 16
  %30 = xor i32 %28, %29
  %31 = or disjoint i32 %30, %26
  %32 = zext nneg i32 %31 to i64
  %33 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %32
  %34 = xor i32 %31, 32
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %35
  %37 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %14
  %invariant.gep14 = getelementptr [4 x i8], ptr addrspace(1) %37, i64 %18
  %38 = zext nneg i32 %27 to i64
  %39 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %38
  %40 = shl nuw nsw i32 %9, 5
  %41 = and i32 %7, 28
  %42 = or disjoint i32 %40, %41
  %43 = zext nneg i32 %42 to i64
  %44 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %43
  %45 = getelementptr inbounds nuw i8, ptr addrspace(3) %44, i64 128
  %46 = getelementptr inbounds nuw i8, ptr addrspace(3) %44, i64 256
  %47 = getelementptr inbounds nuw i8, ptr addrspace(3) %44, i64 384
  %48 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; mov.u32 $2, 0x0; mov.u32 $3, 0x0; ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %invariant.gep13) #0
  %49 = extractvalue { i32, i32, i32, i32 } %48, 0
  %50 = extractvalue { i32, i32, i32, i32 } %48, 1
  %51 = extractvalue { i32, i32, i32, i32 } %48, 2
  %52 = extractvalue { i32, i32, i32, i32 } %48, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %53 = insertelement <4 x i32> poison, i32 %49, i64 0
  %54 = insertelement <4 x i32> %53, i32 %50, i64 1
  %55 = insertelement <4 x i32> %54, i32 %51, i64 2
  %56 = insertelement <4 x i32> %55, i32 %52, i64 3
  store <4 x i32> %56, ptr addrspace(3) %24, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %57 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %33)
  %58 = extractvalue { i32, i32, i32, i32 } %57, 0
  %59 = bitcast i32 %58 to float
  %60 = extractvalue { i32, i32, i32, i32 } %57, 1
  %61 = bitcast i32 %60 to float
  %62 = extractvalue { i32, i32, i32, i32 } %57, 2
  %63 = bitcast i32 %62 to float
  %64 = extractvalue { i32, i32, i32, i32 } %57, 3
  %65 = bitcast i32 %64 to float
  %66 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %36)
  %67 = extractvalue { i32, i32, i32, i32 } %66, 0
  %68 = bitcast i32 %67 to float
  %69 = extractvalue { i32, i32, i32, i32 } %66, 1
  %70 = bitcast i32 %69 to float
  %71 = extractvalue { i32, i32, i32, i32 } %66, 2
  %72 = bitcast i32 %71 to float
  %73 = extractvalue { i32, i32, i32, i32 } %66, 3
  %74 = bitcast i32 %73 to float
  %75 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %invariant.gep14) #0
  %76 = extractvalue { i32, i32 } %75, 0
  %77 = extractvalue { i32, i32 } %75, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %78 = insertelement <2 x i32> poison, i32 %76, i64 0
  %79 = insertelement <2 x i32> %78, i32 %77, i64 1
  store <2 x i32> %79, ptr addrspace(3) %39, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %80 = load float, ptr addrspace(3) %44, align 4
  %81 = load float, ptr addrspace(3) %45, align 4
  %82 = load float, ptr addrspace(3) %46, align 4
  %83 = load float, ptr addrspace(3) %47, align 4
  %84 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %59) #0
  %85 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %61) #0
  %86 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %63) #0
  %87 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %65) #0
  %88 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %68) #0
  %89 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %70) #0
  %90 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %72) #0
  %91 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %74) #0
  %92 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %80) #0
  %93 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %81) #0
  %94 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %82) #0
  %95 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %83) #0
  %96 = bitcast float %84 to i32
  %97 = bitcast float %85 to i32
  %98 = bitcast float %86 to i32
  %99 = bitcast float %87 to i32
  %100 = bitcast float %88 to i32
  %101 = bitcast float %89 to i32
  %102 = bitcast float %90 to i32
  %103 = bitcast float %91 to i32
  %104 = bitcast float %92 to i32
  %105 = bitcast float %93 to i32
  %106 = bitcast float %94 to i32
  %107 = bitcast float %95 to i32
  %108 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, i32 %96, i32 %97, i32 %98, i32 %99, i32 %104, i32 %105) #0
  %109 = extractvalue { float, float, float, float } %108, 0
  %110 = extractvalue { float, float, float, float } %108, 1
  %111 = extractvalue { float, float, float, float } %108, 2
  %112 = extractvalue { float, float, float, float } %108, 3
  %113 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %109, float %110, float %111, float %112, i32 %100, i32 %101, i32 %102, i32 %103, i32 %106, i32 %107) #0
  %114 = extractvalue { float, float, float, float } %113, 0
  %115 = extractvalue { float, float, float, float } %113, 1
  %116 = extractvalue { float, float, float, float } %113, 2
  %117 = extractvalue { float, float, float, float } %113, 3
  %gep.1 = getelementptr i8, ptr addrspace(1) %invariant.gep13, i64 64
  %118 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; mov.u32 $2, 0x0; mov.u32 $3, 0x0; ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %gep.1) #0
  %119 = extractvalue { i32, i32, i32, i32 } %118, 0
  %120 = extractvalue { i32, i32, i32, i32 } %118, 1
  %121 = extractvalue { i32, i32, i32, i32 } %118, 2
  %122 = extractvalue { i32, i32, i32, i32 } %118, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %123 = insertelement <4 x i32> poison, i32 %119, i64 0
  %124 = insertelement <4 x i32> %123, i32 %120, i64 1
  %125 = insertelement <4 x i32> %124, i32 %121, i64 2
  %126 = insertelement <4 x i32> %125, i32 %122, i64 3
  store <4 x i32> %126, ptr addrspace(3) %24, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %127 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %33)
  %128 = extractvalue { i32, i32, i32, i32 } %127, 0
  %129 = bitcast i32 %128 to float
  %130 = extractvalue { i32, i32, i32, i32 } %127, 1
  %131 = bitcast i32 %130 to float
  %132 = extractvalue { i32, i32, i32, i32 } %127, 2
  %133 = bitcast i32 %132 to float
  %134 = extractvalue { i32, i32, i32, i32 } %127, 3
  %135 = bitcast i32 %134 to float
  %136 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %36)
  %137 = extractvalue { i32, i32, i32, i32 } %136, 0
  %138 = bitcast i32 %137 to float
  %139 = extractvalue { i32, i32, i32, i32 } %136, 1
  %140 = bitcast i32 %139 to float
  %141 = extractvalue { i32, i32, i32, i32 } %136, 2
  %142 = bitcast i32 %141 to float
  %143 = extractvalue { i32, i32, i32, i32 } %136, 3
  %144 = bitcast i32 %143 to float
  %gep15.1 = getelementptr i8, ptr addrspace(1) %invariant.gep14, i64 1024
  %145 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep15.1) #0
  %146 = extractvalue { i32, i32 } %145, 0
  %147 = extractvalue { i32, i32 } %145, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %148 = insertelement <2 x i32> poison, i32 %146, i64 0
  %149 = insertelement <2 x i32> %148, i32 %147, i64 1
  store <2 x i32> %149, ptr addrspace(3) %39, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %150 = load float, ptr addrspace(3) %44, align 4
  %151 = load float, ptr addrspace(3) %45, align 4
  %152 = load float, ptr addrspace(3) %46, align 4
  %153 = load float, ptr addrspace(3) %47, align 4
  %154 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %129) #0
  %155 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %131) #0
  %156 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %133) #0
  %157 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %135) #0
  %158 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %138) #0
  %159 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %140) #0
  %160 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %142) #0
  %161 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %144) #0
  %162 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %150) #0
  %163 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %151) #0
  %164 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %152) #0
  %165 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %153) #0
  %166 = bitcast float %154 to i32
  %167 = bitcast float %155 to i32
  %168 = bitcast float %156 to i32
  %169 = bitcast float %157 to i32
  %170 = bitcast float %158 to i32
  %171 = bitcast float %159 to i32
  %172 = bitcast float %160 to i32
  %173 = bitcast float %161 to i32
  %174 = bitcast float %162 to i32
  %175 = bitcast float %163 to i32
  %176 = bitcast float %164 to i32
  %177 = bitcast float %165 to i32
  %178 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %114, float %115, float %116, float %117, i32 %166, i32 %167, i32 %168, i32 %169, i32 %174, i32 %175) #0
  %179 = extractvalue { float, float, float, float } %178, 0
  %180 = extractvalue { float, float, float, float } %178, 1
  %181 = extractvalue { float, float, float, float } %178, 2
  %182 = extractvalue { float, float, float, float } %178, 3
  %183 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %179, float %180, float %181, float %182, i32 %170, i32 %171, i32 %172, i32 %173, i32 %176, i32 %177) #0
  %184 = extractvalue { float, float, float, float } %183, 0
  %185 = extractvalue { float, float, float, float } %183, 1
  %186 = extractvalue { float, float, float, float } %183, 2
  %187 = extractvalue { float, float, float, float } %183, 3
  %gep.2 = getelementptr i8, ptr addrspace(1) %invariant.gep13, i64 128
  %188 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; mov.u32 $2, 0x0; mov.u32 $3, 0x0; ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %gep.2) #0
  %189 = extractvalue { i32, i32, i32, i32 } %188, 0
  %190 = extractvalue { i32, i32, i32, i32 } %188, 1
  %191 = extractvalue { i32, i32, i32, i32 } %188, 2
  %192 = extractvalue { i32, i32, i32, i32 } %188, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %193 = insertelement <4 x i32> poison, i32 %189, i64 0
  %194 = insertelement <4 x i32> %193, i32 %190, i64 1
  %195 = insertelement <4 x i32> %194, i32 %191, i64 2
  %196 = insertelement <4 x i32> %195, i32 %192, i64 3
  store <4 x i32> %196, ptr addrspace(3) %24, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %197 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %33)
  %198 = extractvalue { i32, i32, i32, i32 } %197, 0
  %199 = bitcast i32 %198 to float
  %200 = extractvalue { i32, i32, i32, i32 } %197, 1
  %201 = bitcast i32 %200 to float
  %202 = extractvalue { i32, i32, i32, i32 } %197, 2
  %203 = bitcast i32 %202 to float
  %204 = extractvalue { i32, i32, i32, i32 } %197, 3
  %205 = bitcast i32 %204 to float
  %206 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %36)
  %207 = extractvalue { i32, i32, i32, i32 } %206, 0
  %208 = bitcast i32 %207 to float
  %209 = extractvalue { i32, i32, i32, i32 } %206, 1
  %210 = bitcast i32 %209 to float
  %211 = extractvalue { i32, i32, i32, i32 } %206, 2
  %212 = bitcast i32 %211 to float
  %213 = extractvalue { i32, i32, i32, i32 } %206, 3
  %214 = bitcast i32 %213 to float
  %gep15.2 = getelementptr i8, ptr addrspace(1) %invariant.gep14, i64 2048
  %215 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep15.2) #0
  %216 = extractvalue { i32, i32 } %215, 0
  %217 = extractvalue { i32, i32 } %215, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %218 = insertelement <2 x i32> poison, i32 %216, i64 0
  %219 = insertelement <2 x i32> %218, i32 %217, i64 1
  store <2 x i32> %219, ptr addrspace(3) %39, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %220 = load float, ptr addrspace(3) %44, align 4
  %221 = load float, ptr addrspace(3) %45, align 4
  %222 = load float, ptr addrspace(3) %46, align 4
  %223 = load float, ptr addrspace(3) %47, align 4
  %224 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %199) #0
  %225 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %201) #0
  %226 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %203) #0
  %227 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %205) #0
  %228 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %208) #0
  %229 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %210) #0
  %230 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %212) #0
  %231 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %214) #0
  %232 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %220) #0
  %233 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %221) #0
  %234 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %222) #0
  %235 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %223) #0
  %236 = bitcast float %224 to i32
  %237 = bitcast float %225 to i32
  %238 = bitcast float %226 to i32
  %239 = bitcast float %227 to i32
  %240 = bitcast float %228 to i32
  %241 = bitcast float %229 to i32
  %242 = bitcast float %230 to i32
  %243 = bitcast float %231 to i32
  %244 = bitcast float %232 to i32
  %245 = bitcast float %233 to i32
  %246 = bitcast float %234 to i32
  %247 = bitcast float %235 to i32
  %248 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %184, float %185, float %186, float %187, i32 %236, i32 %237, i32 %238, i32 %239, i32 %244, i32 %245) #0
  %249 = extractvalue { float, float, float, float } %248, 0
  %250 = extractvalue { float, float, float, float } %248, 1
  %251 = extractvalue { float, float, float, float } %248, 2
  %252 = extractvalue { float, float, float, float } %248, 3
  %253 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %249, float %250, float %251, float %252, i32 %240, i32 %241, i32 %242, i32 %243, i32 %246, i32 %247) #0
  %254 = extractvalue { float, float, float, float } %253, 0
  %255 = extractvalue { float, float, float, float } %253, 1
  %256 = extractvalue { float, float, float, float } %253, 2
  %257 = extractvalue { float, float, float, float } %253, 3
  %gep.3 = getelementptr i8, ptr addrspace(1) %invariant.gep13, i64 192
  %258 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; mov.u32 $2, 0x0; mov.u32 $3, 0x0; ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %gep.3) #0
  %259 = extractvalue { i32, i32, i32, i32 } %258, 0
  %260 = extractvalue { i32, i32, i32, i32 } %258, 1
  %261 = extractvalue { i32, i32, i32, i32 } %258, 2
  %262 = extractvalue { i32, i32, i32, i32 } %258, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %263 = insertelement <4 x i32> poison, i32 %259, i64 0
  %264 = insertelement <4 x i32> %263, i32 %260, i64 1
  %265 = insertelement <4 x i32> %264, i32 %261, i64 2
  %266 = insertelement <4 x i32> %265, i32 %262, i64 3
  store <4 x i32> %266, ptr addrspace(3) %24, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %267 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %33)
  %268 = extractvalue { i32, i32, i32, i32 } %267, 0
  %269 = bitcast i32 %268 to float
  %270 = extractvalue { i32, i32, i32, i32 } %267, 1
  %271 = bitcast i32 %270 to float
  %272 = extractvalue { i32, i32, i32, i32 } %267, 2
  %273 = bitcast i32 %272 to float
  %274 = extractvalue { i32, i32, i32, i32 } %267, 3
  %275 = bitcast i32 %274 to float
  %276 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %36)
  %277 = extractvalue { i32, i32, i32, i32 } %276, 0
  %278 = bitcast i32 %277 to float
  %279 = extractvalue { i32, i32, i32, i32 } %276, 1
  %280 = bitcast i32 %279 to float
  %281 = extractvalue { i32, i32, i32, i32 } %276, 2
  %282 = bitcast i32 %281 to float
  %283 = extractvalue { i32, i32, i32, i32 } %276, 3
  %284 = bitcast i32 %283 to float
  %gep15.3 = getelementptr i8, ptr addrspace(1) %invariant.gep14, i64 3072
  %285 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0; mov.u32 $1, 0x0; ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep15.3) #0
  %286 = extractvalue { i32, i32 } %285, 0
  %287 = extractvalue { i32, i32 } %285, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %288 = insertelement <2 x i32> poison, i32 %286, i64 0
  %289 = insertelement <2 x i32> %288, i32 %287, i64 1
  store <2 x i32> %289, ptr addrspace(3) %39, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %290 = load float, ptr addrspace(3) %44, align 4
  %291 = load float, ptr addrspace(3) %45, align 4
  %292 = load float, ptr addrspace(3) %46, align 4
  %293 = load float, ptr addrspace(3) %47, align 4
  %294 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %269) #0
  %295 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %271) #0
  %296 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %273) #0
  %297 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %275) #0
  %298 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %278) #0
  %299 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %280) #0
  %300 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %282) #0
  %301 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %284) #0
  %302 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %290) #0
  %303 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %291) #0
  %304 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %292) #0
  %305 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %293) #0
  %306 = bitcast float %294 to i32
  %307 = bitcast float %295 to i32
  %308 = bitcast float %296 to i32
  %309 = bitcast float %297 to i32
  %310 = bitcast float %298 to i32
  %311 = bitcast float %299 to i32
  %312 = bitcast float %300 to i32
  %313 = bitcast float %301 to i32
  %314 = bitcast float %302 to i32
  %315 = bitcast float %303 to i32
  %316 = bitcast float %304 to i32
  %317 = bitcast float %305 to i32
  %318 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %254, float %255, float %256, float %257, i32 %306, i32 %307, i32 %308, i32 %309, i32 %314, i32 %315) #0
  %319 = extractvalue { float, float, float, float } %318, 0
  %320 = extractvalue { float, float, float, float } %318, 1
  %321 = extractvalue { float, float, float, float } %318, 2
  %322 = extractvalue { float, float, float, float } %318, 3
  %323 = tail call { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { $0, $1, $2, $3 }, { $8, $9, $10, $11 }, { $12, $13 }, { $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float %319, float %320, float %321, float %322, i32 %310, i32 %311, i32 %312, i32 %313, i32 %316, i32 %317) #0
  %324 = extractvalue { float, float, float, float } %323, 0
  %325 = extractvalue { float, float, float, float } %323, 1
  %326 = extractvalue { float, float, float, float } %323, 2
  %327 = extractvalue { float, float, float, float } %323, 3
  %328 = fadd float %324, 1.000000e+00
  %329 = fadd float %325, 1.000000e+00
  %330 = fadd float %326, 1.000000e+00
  %331 = fadd float %327, 1.000000e+00
  %332 = tail call float @llvm.nvvm.fabs.f32(float %328)
  %333 = fmul float %332, 2.885390e+00
  %334 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %333)
  %335 = fadd float %334, 1.000000e+00
  %336 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %335) #9, !srcloc !4
  %337 = tail call float @llvm.fma.f32(float %336, float -2.000000e+00, float 1.000000e+00)
  %338 = fcmp oge float %332, f0x41102CB4
  %s.0.i = select i1 %338, float 1.000000e+00, float %337
  %339 = tail call float @llvm.copysign.f32(float %s.0.i, float %328) #0
  %340 = fmul float %328, %328
  %341 = tail call float @llvm.fma.f32(float %340, float f0x3C80F082, float f0xBD563CAE)
  %342 = tail call float @llvm.fma.f32(float %341, float %340, float f0x3E085941)
  %343 = tail call float @llvm.fma.f32(float %342, float %340, float f0xBEAAA9ED)
  %344 = tail call float @llvm.fma.f32(float %343, float %340, float 0.000000e+00)
  %345 = tail call float @llvm.fma.f32(float %344, float %328, float %328)
  %346 = fcmp oge float %332, 6.000000e-01
  %.01.i = select i1 %346, float %339, float %345
  %347 = tail call float @llvm.nvvm.fabs.f32(float %329)
  %348 = fmul float %347, 2.885390e+00
  %349 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %348)
  %350 = fadd float %349, 1.000000e+00
  %351 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %350) #9, !srcloc !4
  %352 = tail call float @llvm.fma.f32(float %351, float -2.000000e+00, float 1.000000e+00)
  %353 = fcmp oge float %347, f0x41102CB4
  %s.0.i5 = select i1 %353, float 1.000000e+00, float %352
  %354 = tail call float @llvm.copysign.f32(float %s.0.i5, float %329) #0
  %355 = fmul float %329, %329
  %356 = tail call float @llvm.fma.f32(float %355, float f0x3C80F082, float f0xBD563CAE)
  %357 = tail call float @llvm.fma.f32(float %356, float %355, float f0x3E085941)
  %358 = tail call float @llvm.fma.f32(float %357, float %355, float f0xBEAAA9ED)
  %359 = tail call float @llvm.fma.f32(float %358, float %355, float 0.000000e+00)
  %360 = tail call float @llvm.fma.f32(float %359, float %329, float %329)
  %361 = fcmp oge float %347, 6.000000e-01
  %.01.i6 = select i1 %361, float %354, float %360
  %362 = tail call float @llvm.nvvm.fabs.f32(float %330)
  %363 = fmul float %362, 2.885390e+00
  %364 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %363)
  %365 = fadd float %364, 1.000000e+00
  %366 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %365) #9, !srcloc !4
  %367 = tail call float @llvm.fma.f32(float %366, float -2.000000e+00, float 1.000000e+00)
  %368 = fcmp oge float %362, f0x41102CB4
  %s.0.i7 = select i1 %368, float 1.000000e+00, float %367
  %369 = tail call float @llvm.copysign.f32(float %s.0.i7, float %330) #0
  %370 = fmul float %330, %330
  %371 = tail call float @llvm.fma.f32(float %370, float f0x3C80F082, float f0xBD563CAE)
  %372 = tail call float @llvm.fma.f32(float %371, float %370, float f0x3E085941)
  %373 = tail call float @llvm.fma.f32(float %372, float %370, float f0xBEAAA9ED)
  %374 = tail call float @llvm.fma.f32(float %373, float %370, float 0.000000e+00)
  %375 = tail call float @llvm.fma.f32(float %374, float %330, float %330)
  %376 = fcmp oge float %362, 6.000000e-01
  %.01.i8 = select i1 %376, float %369, float %375
  %377 = tail call float @llvm.nvvm.fabs.f32(float %331)
  %378 = fmul float %377, 2.885390e+00
  %379 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %378)
  %380 = fadd float %379, 1.000000e+00
  %381 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %380) #9, !srcloc !4
  %382 = tail call float @llvm.fma.f32(float %381, float -2.000000e+00, float 1.000000e+00)
  %383 = fcmp oge float %377, f0x41102CB4
  %s.0.i9 = select i1 %383, float 1.000000e+00, float %382
  %384 = tail call float @llvm.copysign.f32(float %s.0.i9, float %331) #0
  %385 = fmul float %331, %331
  %386 = tail call float @llvm.fma.f32(float %385, float f0x3C80F082, float f0xBD563CAE)
  %387 = tail call float @llvm.fma.f32(float %386, float %385, float f0x3E085941)
  %388 = tail call float @llvm.fma.f32(float %387, float %385, float f0xBEAAA9ED)
  %389 = tail call float @llvm.fma.f32(float %388, float %385, float 0.000000e+00)
  %390 = tail call float @llvm.fma.f32(float %389, float %331, float %331)
  %391 = fcmp oge float %377, 6.000000e-01
  %.01.i10 = select i1 %391, float %384, float %390
  %392 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %14
  %.idx = shl nuw nsw i64 %6, 10
  %393 = getelementptr i8, ptr addrspace(1) %392, i64 %.idx
  %394 = getelementptr [4 x i8], ptr addrspace(1) %393, i64 %18
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %395 = and i32 %19, 112
  %396 = shl nuw nsw i32 %7, 5
  %397 = and i32 %396, 256
  %398 = and i32 %27, 128
  %399 = or disjoint i32 %395, %397
  %400 = or disjoint i32 %399, %398
  %401 = zext nneg i32 %400 to i64
  %402 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %401
  %403 = bitcast float %.01.i to i32
  %404 = bitcast float %.01.i6 to i32
  %405 = bitcast float %.01.i8 to i32
  %406 = bitcast float %.01.i10 to i32
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %402, i32 %403, i32 %404, i32 %405, i32 %406)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %407 = lshr i32 %7, 1
  %408 = or i32 %407, %7
  %409 = shl nuw nsw i32 %408, 3
  %410 = and i32 %409, 128
  %411 = or disjoint i32 %410, %399
  %412 = zext nneg i32 %411 to i64
  %413 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %412
  %414 = tail call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %413)
  %415 = extractvalue { i32, i32 } %414, 0
  %416 = extractvalue { i32, i32 } %414, 1
  tail call void asm sideeffect "st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l"(i32 %415, i32 %416, ptr addrspace(1) %394) #0
  ret void
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.fabs.f32(float) #6

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float) #7

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.copysign.f32(float, float) #6

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #8

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { convergent nocallback nounwind memory(argmem: write) }
attributes #4 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #5 = { nounwind "nvvm.reqntid"="64,1,1" }
attributes #6 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #8 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nounwind memory(none) }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}
!llvm.ident = !{!2}
!nvvmir.version = !{!3}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!3 = !{i32 2, i32 0}
!4 = !{i32 21352}
