package offheap

import "syscall"

// populate has the pages of a new block made at once.
const populate = syscall.MAP_POPULATE

// adviseHuge asks for large pages, before the block is first written. What is looked up
// lies all over a block, and a look-up would miss the translation of its address as well
// as the line. Without them it only takes longer.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
