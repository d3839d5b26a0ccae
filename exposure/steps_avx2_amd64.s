#include "textflag.h"

// What steps_avx512_amd64.s does, for eight at a time.

// BROADCAST fills a register with a number of 32 bits.
#define BROADCAST(number, x, y) \
	MOVL number, BX     \
	VMOVD BX, x         \
	VPBROADCASTD x, y

// MAY makes of the eight keys in Y0 a bit each: whether bit key>>shift of a map is set.
#define MAY(to) \
	VPSRLVD Y13, Y0, Y1        \
	VPSRLD  $5, Y1, Y2         \
	VPXOR   Y3, Y3, Y3         \
	VPCMPEQD Y4, Y4, Y4        \
	VPGATHERDD Y4, (AX)(Y2*4), Y3 \
	VPAND   Y12, Y1, Y1        \
	VPSRLVD Y1, Y3, Y3         \
	VPSLLD  $31, Y3, Y3        \
	VMOVMSKPS Y3, to

// func sortOutAVX2(keys *uint32, n int, hits, marks *byte, bits *uint64, shift uint64, may *uint64) (shards int)
TEXT ·sortOutAVX2(SB), NOSPLIT, $0-64
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ hits+16(FP), DI
	MOVQ marks+24(FP), R8
	MOVQ bits+32(FP), AX
	VPBROADCASTD shift+40(FP), Y13
	MOVQ may+48(FP), R9
	BROADCAST($0x02020202, X15, Y15)
	VPXOR Y14, Y14, Y14
	BROADCAST($31, X12, Y12)
	XORQ DX, DX

next:
	VPCMPEQB (DI), Y14, Y0
	VPANDN Y15, Y0, Y1
	VMOVDQU Y1, (R8)
	VPMOVMSKB Y0, BX
	NOTL BX
	POPCNTL BX, BX
	ADDQ BX, DX
	VMOVDQU (SI), Y0
	MAY(R10)
	VMOVDQU 32(SI), Y0
	MAY(R11)
	VMOVDQU 64(SI), Y0
	MAY(R12)
	VMOVDQU 96(SI), Y0
	MAY(R13)
	SHLL $8, R11
	ORL  R11, R10
	SHLL $16, R12
	SHLL $24, R13
	ORL  R13, R12
	ORL  R12, R10
	MOVL R10, (R9)
	ADDQ $32, DI
	ADDQ $32, R8
	ADDQ $128, SI
	ADDQ $4, R9
	SUBQ $32, CX
	JNZ  next
	MOVQ DX, shards+56(FP)
	VZEROUPPER
	RET

// LEFT writes the numbers of the ones among the lowest eight of DX, counted from Y14 on.
#define LEFT \
	MOVBLZX DL, BX               \
	VPMOVZXBD (R9)(BX*8), Y0     \
	VPADDD Y14, Y0, Y0           \
	VPADDD Y13, Y14, Y14         \
	VMOVDQU Y0, (DI)             \
	POPCNTL BX, BX               \
	LEAQ (DI)(BX*4), DI

// func listAVX2(marks *byte, n int, left *uint64, to *uint32) (count int)
TEXT ·listAVX2(SB), NOSPLIT, $0-40
	MOVQ marks+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ left+16(FP), R9
	MOVQ to+24(FP), DI
	MOVQ DI, R8
	BROADCAST($8, X13, Y13)
	VPXOR Y14, Y14, Y14
	VPXOR Y15, Y15, Y15

next:
	VPCMPEQB (SI), Y15, Y0
	VPMOVMSKB Y0, DX
	LEFT
	SHRL $8, DX
	LEFT
	SHRL $8, DX
	LEFT
	SHRL $8, DX
	LEFT
	ADDQ $32, SI
	SUBQ $32, CX
	JNZ  next
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	VZEROUPPER
	RET

// func sharedAVX2(list *uint32, n int, keys *uint32, bits *uint64, left *uint64, to *uint32) (count int)
TEXT ·sharedAVX2(SB), NOSPLIT, $0-56
	MOVQ list+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ keys+16(FP), R10
	MOVQ bits+24(FP), AX
	MOVQ left+32(FP), R9
	MOVQ to+40(FP), DI
	MOVQ DI, R8
	BROADCAST($8, X13, Y13)
	VPXOR Y14, Y14, Y14
	BROADCAST($31, X12, Y12)
	BROADCAST($0xfff, X11, Y11) // of 32 bits each

next:
	VMOVDQU (SI), Y1
	VPXOR Y0, Y0, Y0
	VPCMPEQD Y4, Y4, Y4
	VPGATHERDD Y4, (R10)(Y1*4), Y0
	VPSRLD $5, Y0, Y2
	VPAND Y11, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPCMPEQD Y4, Y4, Y4
	VPGATHERDD Y4, (AX)(Y2*4), Y3
	VPAND Y12, Y0, Y0
	VPSRLVD Y0, Y3, Y3
	VPSLLD $31, Y3, Y3
	VMOVMSKPS Y3, DX
	LEFT
	ADDQ $32, SI
	SUBQ $8, CX
	JNZ  next
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+48(FP)
	VZEROUPPER
	RET
