#include "textflag.h"

// func siftAVX2(masks *sieveMasks, hi *uint32, eights int, query uint32, nibbles *[4][16]uint8, units uint8)
//
// A lane of 32 bits a posting. Shifted and masked, its lowest byte is a nibble
// and its other bytes are 0, the cost of which is 0 in every table: VPSHUFB leaves
// the cost of the nibble as the number in the lane.
TEXT ·siftAVX2(SB), NOSPLIT, $0-41
	MOVQ masks+0(FP), DI
	MOVQ hi+8(FP), SI
	MOVQ eights+16(FP), CX
	MOVQ nibbles+32(FP), DX
	MOVL query+24(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	VBROADCASTI128 0(DX), Y1
	VBROADCASTI128 16(DX), Y2
	VBROADCASTI128 32(DX), Y3
	VBROADCASTI128 48(DX), Y4
	MOVBLZX units+40(FP), AX
	VMOVD AX, X5
	VPBROADCASTD X5, Y5
	MOVL $15, AX
	VMOVD AX, X6
	VPBROADCASTD X6, Y6

loop:
	VPXOR (SI), Y0, Y7
	VPSRLD $28, Y7, Y8
	VPSRLD $24, Y7, Y9
	VPSRLD $20, Y7, Y10
	VPSRLD $16, Y7, Y11
	VPAND Y6, Y9, Y9
	VPAND Y6, Y10, Y10
	VPAND Y6, Y11, Y11
	VPSHUFB Y8, Y1, Y8
	VPSHUFB Y9, Y2, Y9
	VPSHUFB Y10, Y3, Y10
	VPSHUFB Y11, Y4, Y11
	VPADDD Y8, Y9, Y8
	VPADDD Y10, Y11, Y10
	VPADDD Y8, Y10, Y8
	VPCMPGTD Y8, Y5, Y8
	VMOVMSKPS Y8, AX
	MOVB AX, (DI)
	ADDQ $32, SI
	INCQ DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
