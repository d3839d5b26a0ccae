#include "textflag.h"

// func siftAVX2(masks *sieveMasks, hi *uint32, eights int, query uint32, tables *sieveTables, next, both uint32)
//
// A lane of 32 bits a posting. Shifted and masked, its lowest byte is a nibble
// and its other bytes are 0, the cost of which is 0 in every table: VPSHUFB leaves
// the cost of the nibble as the number in the lane.
TEXT ·siftAVX2(SB), NOSPLIT, $0-48
	MOVQ masks+0(FP), DI
	MOVQ hi+8(FP), SI
	MOVQ eights+16(FP), CX
	MOVL query+24(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	MOVQ tables+32(FP), DX
	VBROADCASTI128 0(DX), Y1
	VBROADCASTI128 16(DX), Y2
	VBROADCASTI128 32(DX), Y3
	VBROADCASTI128 48(DX), Y4
	VBROADCASTI128 64(DX), Y5
	VBROADCASTI128 80(DX), Y6
	VBROADCASTI128 96(DX), Y7
	VBROADCASTI128 112(DX), Y8
	MOVL next+40(FP), AX
	VMOVD AX, X9
	VPBROADCASTD X9, Y9
	MOVL both+44(FP), AX
	VMOVD AX, X10
	VPBROADCASTD X10, Y10
	MOVL $15, AX
	VMOVD AX, X11
	VPBROADCASTD X11, Y11

loop:
	VPXOR (SI), Y0, Y12
	VPSRLD $28, Y12, Y13
	VPSRLD $24, Y12, Y14
	VPAND Y11, Y14, Y14
	VPSHUFB Y13, Y1, Y13
	VPSHUFB Y14, Y2, Y14
	VPADDD Y13, Y14, Y15
	VPSRLD $20, Y12, Y13
	VPSRLD $16, Y12, Y14
	VPAND Y11, Y13, Y13
	VPAND Y11, Y14, Y14
	VPSHUFB Y13, Y3, Y13
	VPSHUFB Y14, Y4, Y14
	VPADDD Y13, Y14, Y14
	VPADDD Y14, Y15, Y15
	VPSRLD $12, Y12, Y13
	VPSRLD $8, Y12, Y14
	VPAND Y11, Y13, Y13
	VPAND Y11, Y14, Y14
	VPSHUFB Y13, Y5, Y13
	VPSHUFB Y14, Y6, Y14
	VPADDD Y13, Y14, Y14
	VPSRLD $4, Y12, Y13
	VPAND Y11, Y12, Y12
	VPAND Y11, Y13, Y13
	VPSHUFB Y13, Y7, Y13
	VPSHUFB Y12, Y8, Y12
	VPADDD Y12, Y13, Y13
	VPADDD Y13, Y14, Y14
	VPADDD Y15, Y14, Y14
	VPCMPGTD Y15, Y9, Y15
	VPCMPGTD Y14, Y10, Y14
	VPAND Y14, Y15, Y15
	VMOVMSKPS Y15, AX
	MOVB AX, (DI)
	ADDQ $32, SI
	INCQ DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func siftAVX512(masks *sieveMasks, hi *uint32, sixteens int, query uint32, tables *sieveTables, next, both uint32)
//
// A table of 64 bytes for VPERMB holds the costs of four nibbles: bits 4 and 5 of
// an index say of which byte of the posting the nibble is. So all the upper nibbles
// of sixteen postings are looked up at once, and all the lower ones. The sums of the
// two stop at 255, which is beyond every bound; VPDPBUSD adds the two upper bytes of
// each posting, and all four.
TEXT ·siftAVX512(SB), NOSPLIT, $0-48
	MOVQ masks+0(FP), DI
	MOVQ hi+8(FP), SI
	MOVQ sixteens+16(FP), CX
	MOVL query+24(FP), AX
	VPBROADCASTD AX, Z0
	MOVQ tables+32(FP), DX

	// Table i is that of nibble i from the highest; byte 0 of a posting, its
	// lowest, has the nibbles 6 and 7.
	VMOVDQU 96(DX), X1
	VINSERTI32X4 $1, 64(DX), Z1, Z1
	VINSERTI32X4 $2, 32(DX), Z1, Z1
	VINSERTI32X4 $3, 0(DX), Z1, Z1
	VMOVDQU 112(DX), X2
	VINSERTI32X4 $1, 80(DX), Z2, Z2
	VINSERTI32X4 $2, 48(DX), Z2, Z2
	VINSERTI32X4 $3, 16(DX), Z2, Z2

	MOVL next+40(FP), AX
	VPBROADCASTD AX, Z3
	MOVL both+44(FP), AX
	VPBROADCASTD AX, Z4
	MOVL $0x0f0f0f0f, AX
	VPBROADCASTD AX, Z5
	MOVL $0x30201000, AX
	VPBROADCASTD AX, Z6
	MOVL $0x01010000, AX
	VPBROADCASTD AX, Z7
	MOVL $0x01010101, AX
	VPBROADCASTD AX, Z8

loop512:
	VPXORD (SI), Z0, Z10
	VPSRLD $4, Z10, Z11
	VPTERNLOGD $0xec, Z5, Z6, Z10
	VPTERNLOGD $0xec, Z5, Z6, Z11
	VPERMB Z2, Z10, Z10
	VPERMB Z1, Z11, Z11
	VPADDUSB Z10, Z11, Z10
	VPXORD Z11, Z11, Z11
	VPXORD Z12, Z12, Z12
	VPDPBUSD Z7, Z10, Z11
	VPDPBUSD Z8, Z10, Z12
	VPCMPUD $1, Z3, Z11, K1
	VPCMPUD $1, Z4, Z12, K1, K2
	KMOVW K2, AX
	MOVW AX, (DI)
	ADDQ $64, SI
	ADDQ $2, DI
	DECQ CX
	JNZ loop512
	VZEROUPPER
	RET

// func matchAVX2(masks *sieveMasks, hi *uint32, eights int, x uint32)
TEXT ·matchAVX2(SB), NOSPLIT, $0-28
	MOVQ masks+0(FP), DI
	MOVQ hi+8(FP), SI
	MOVQ eights+16(FP), CX
	MOVL x+24(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0

loopMatch:
	VPCMPEQD (SI), Y0, Y1
	VMOVMSKPS Y1, AX
	MOVB AX, (DI)
	ADDQ $32, SI
	INCQ DI
	DECQ CX
	JNZ loopMatch
	VZEROUPPER
	RET
