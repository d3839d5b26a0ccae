//go:build !purego

#include "textflag.h"

// BROADCAST fills a register with a number of 32 bits.
#define BROADCAST(number, x, y) \
	MOVL number, BX     \
	VMOVD BX, x         \
	VPBROADCASTD x, y

// func mapQuotesAVX2(b *byte, n int, to *uint64) (has byte)
//
// Y0 '"', Y1 '\\', Y2 the last control character; Y3 is where there were backslashes
// or control characters, Y8 all bytes or-ed.
TEXT ·mapQuotesAVX2(SB), NOSPLIT, $0-25
	MOVQ b+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ to+16(FP), DI
	MOVL $0x22222222, AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	MOVL $0x5c5c5c5c, AX
	VMOVD AX, X1
	VPBROADCASTD X1, Y1
	MOVL $0x1f1f1f1f, AX
	VMOVD AX, X2
	VPBROADCASTD X2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y8, Y8, Y8

block:
	VMOVDQU (SI), Y4
	VMOVDQU 32(SI), Y5
	VPCMPEQB Y0, Y4, Y6
	VPCMPEQB Y0, Y5, Y7
	VPMOVMSKB Y6, AX
	VPMOVMSKB Y7, BX
	SHLQ $32, BX
	ORQ  BX, AX
	MOVQ AX, (DI)
	VPOR Y4, Y8, Y8
	VPOR Y5, Y8, Y8
	VPMINUB Y2, Y4, Y6
	VPMINUB Y2, Y5, Y7
	VPCMPEQB Y4, Y6, Y6
	VPCMPEQB Y5, Y7, Y7
	VPCMPEQB Y1, Y4, Y4
	VPCMPEQB Y1, Y5, Y5
	VPOR Y6, Y7, Y6
	VPOR Y4, Y5, Y4
	VPOR Y4, Y6, Y4
	VPOR Y4, Y3, Y3
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  block

	VPMOVMSKB Y8, BX
	XORL AX, AX
	XORL DX, DX
	TESTL BX, BX
	SETNE DX
	VPTEST Y3, Y3
	SETNE AX
	SHLL $1, DX
	ORL  DX, AX
	MOVB AX, has+24(FP)
	VZEROUPPER
	RET

// func flattenBMI(q *uint64, n int, base uint32, to *uint32) (count int)
TEXT ·flattenBMI(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL base+16(FP), R8
	MOVQ to+24(FP), DI
	MOVQ DI, R11

// POSITION writes that of the lowest one of BX, and clears it; of none, what does not count.
#define POSITION(at) \
	TZCNTQ BX, R10     \
	ADDL   R8, R10     \
	MOVL   R10, at(DI) \
	BLSRQ  BX, BX

word:
	MOVQ (SI), BX
	POPCNTQ BX, R9
	LEAQ (DI)(R9*4), R9

eight:
	POSITION(0)
	POSITION(4)
	POSITION(8)
	POSITION(12)
	POSITION(16)
	POSITION(20)
	POSITION(24)
	POSITION(28)
	ADDQ $32, DI
	TESTQ BX, BX
	JNZ  eight
	MOVQ R9, DI
	ADDL $64, R8
	ADDQ $8, SI
	DECQ CX
	JNZ  word
	SUBQ R11, DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	RET

// From where a span opens to its first byte.
DATA opens<>+0(SB)/8, $1
DATA opens<>+8(SB)/8, $1
DATA opens<>+16(SB)/8, $1
DATA opens<>+24(SB)/8, $1
GLOBL opens<>(SB), RODATA|NOPTR, $32

// func pairAVX2(spans *span, n int, body *byte) (done int)
TEXT ·pairAVX2(SB), NOSPLIT, $0-32
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	BROADCAST($2, X15, Y15)
	BROADCAST($255, X14, Y14)
	BROADCAST($0xffff, X13, Y13)
	BROADCAST($0x222c, X12, Y12)   // ,"
	BROADCAST($0xffffff, X11, Y11)
	BROADCAST($0x22202c, X10, Y10) // , "
	VMOVDQU opens<>(SB), Y9
	XORQ DX, DX

// BEHIND loads what follows the ends of four spans.
#define BEHIND(i, j, k, l, x) \
	MOVL i*8+4(SI)(DX*8), R8         \
	MOVL j*8+4(SI)(DX*8), R9         \
	MOVL k*8+4(SI)(DX*8), R10        \
	MOVL l*8+4(SI)(DX*8), R11        \
	VMOVD 1(AX)(R8*1), x             \
	VPINSRD $1, 1(AX)(R9*1), x, x    \
	VPINSRD $2, 1(AX)(R10*1), x, x   \
	VPINSRD $3, 1(AX)(R11*1), x, x

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU (SI)(DX*8), Y0
	VMOVDQU 32(SI)(DX*8), Y1
	VSHUFPS $0x88, Y1, Y0, Y2 // where they open
	VSHUFPS $0xdd, Y1, Y0, Y3 // where they close
	VPSUBD Y2, Y3, Y3
	VPSUBD Y15, Y3, Y3
	VPMAXUD Y14, Y3, Y3
	VPCMPEQD Y14, Y3, Y3      // neither empty nor too long
	BEHIND(0, 1, 4, 5, X4)
	BEHIND(2, 3, 6, 7, X5)
	VINSERTI128 $1, X5, Y4, Y4
	VPAND Y13, Y4, Y6
	VPAND Y11, Y4, Y7
	VPCMPEQD Y12, Y6, Y6
	VPCMPEQD Y10, Y7, Y7
	VPOR Y6, Y7, Y7
	VPAND Y3, Y7, Y7
	VMOVMSKPS Y7, BX
	CMPL BX, $255
	JNE  done
	VPADDD Y9, Y0, Y0
	VPADDD Y9, Y1, Y1
	VMOVDQU Y0, (SI)(DX*8)
	VMOVDQU Y1, 32(SI)(DX*8)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+24(FP)
	VZEROUPPER
	RET

// Bytes of a quadword in reverse.
DATA reversed<>+0(SB)/8, $0x0001020304050607
DATA reversed<>+8(SB)/8, $0x08090a0b0c0d0e0f
DATA reversed<>+16(SB)/8, $0x0001020304050607
DATA reversed<>+24(SB)/8, $0x08090a0b0c0d0e0f
GLOBL reversed<>(SB), RODATA|NOPTR, $32

// ENDS loads the first and the last eight bytes of four ids.
#define ENDS(i, x, y, a, b, c, d) \
	MOVL i+0(SI)(DX*8), R8               \
	MOVL i+8(SI)(DX*8), R9               \
	MOVL i+16(SI)(DX*8), R10             \
	MOVL i+24(SI)(DX*8), R11             \
	VMOVQ (AX)(R8*1), a                  \
	VPINSRQ $1, (AX)(R9*1), a, a         \
	VMOVQ (AX)(R10*1), b                 \
	VPINSRQ $1, (AX)(R11*1), b, b        \
	VINSERTI128 $1, b, x, x              \
	MOVL i+4(SI)(DX*8), R8               \
	MOVL i+12(SI)(DX*8), R9              \
	MOVL i+20(SI)(DX*8), R10             \
	MOVL i+28(SI)(DX*8), R11             \
	VMOVQ -8(AX)(R8*1), c                \
	VPINSRQ $1, -8(AX)(R9*1), c, c       \
	VMOVQ -8(AX)(R10*1), d               \
	VPINSRQ $1, -8(AX)(R11*1), d, d      \
	VINSERTI128 $1, d, y, y

#define Lo -32(R14)
#define Hi -64(R14)

// XXH3 is hash16 of four ids, whose ends are in x and y and lengths in n, but for its last
// step; s to v are lost.
#define XXH3(x, y, n, s, t, u, v) \
	VPXOR    Lo, x, x            \
	VPXOR    Hi, y, y            \
	VPSRLQ   $32, x, s             \
	VPSRLQ   $32, y, t             \
	VPMULUDQ x, y, u               \
	VPMULUDQ x, t, v               \
	VPMULUDQ s, y, Y12             \
	VPMULUDQ s, t, s               \
	VPSRLQ   $32, u, t             \
	VPADDQ   t, v, v               \ // no carry: (2³²-1)² + 2³²-1 < 2⁶⁴
	VPBLENDD $0xaa, Y15, v, t      \
	VPADDQ   t, Y12, Y12           \ // nor here
	VPSRLQ   $32, v, v             \
	VPADDQ   v, s, s               \
	VPSRLQ   $32, Y12, v           \
	VPADDQ   v, s, s               \ // upper half of the product
	VPSLLQ   $32, Y12, Y12         \
	VPBLENDD $0x55, u, Y12, Y12    \ // lower half
	VPXOR    Y12, s, s             \
	VPSHUFB  reversed<>(SB), x, x  \
	VPADDQ   n, x, x               \
	VPADDQ   y, s, s               \
	VPADDQ   x, s, s               \
	VPSRLQ   $37, s, x             \
	VPXOR    x, s, x               \
	VPSRLQ   $32, x, s             \
	VPMULUDQ Y13, x, t             \
	VPMULUDQ Y13, s, s             \
	VPMULUDQ Y14, x, u             \
	VPADDQ   u, s, s               \
	VPSLLQ   $32, s, s             \
	VPADDQ   t, s, x

// func hashAVX2(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)
TEXT ·hashAVX2(SB), NOSPLIT, $96-56
	LEAQ top-0(SP), R14
	ANDQ $~31, R14
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	MOVQ keys+24(FP), DI
	VPBROADCASTQ lo+32(FP), Y0
	VMOVDQU Y0, Lo
	VPBROADCASTQ hi+40(FP), Y0
	VMOVDQU Y0, Hi
	BROADCAST($0x9e3779f9, X13, Y13)
	BROADCAST($0x16566791, X14, Y14)
	VPXOR Y15, Y15, Y15
	VPCMPEQD Y11, Y11, Y11
	VPSRLD $29, Y11, Y11
	BROADCAST($9, X10, Y10)
	XORQ DX, DX

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU (SI)(DX*8), Y0
	VMOVDQU 32(SI)(DX*8), Y1
	VPSRLQ $32, Y0, Y2
	VPSRLQ $32, Y1, Y3
	VPSUBD Y0, Y2, Y2
	VPSUBD Y1, Y3, Y3
	VPBLENDD $0xaa, Y15, Y2, Y2 // lengths
	VPBLENDD $0xaa, Y15, Y3, Y3
	VSHUFPS $0x88, Y3, Y2, Y4
	VPSUBD Y10, Y4, Y4
	VPANDN Y4, Y11, Y4
	VPTEST Y4, Y4
	JNZ  done                 // not 9 to 16, which an odd span's never is
	ENDS(0, Y0, Y4, X0, X5, X4, X6)
	ENDS(32, Y1, Y5, X1, X6, X5, X7)
	XXH3(Y0, Y4, Y2, Y6, Y7, Y8, Y9)
	XXH3(Y1, Y5, Y3, Y6, Y7, Y8, Y9)
	VSHUFPS $0xdd, Y1, Y0, Y2
	VSHUFPS $0x88, Y1, Y0, Y0
	VPXOR Y2, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VPCMPEQD Y15, Y0, Y1
	VPSUBD Y1, Y0, Y0         // 1 for 0
	VMOVDQU Y0, (DI)(DX*4)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+48(FP)
	VZEROUPPER
	RET
