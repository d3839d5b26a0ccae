package offheap

import "syscall"

// populate has the pages of a new block made at once.
const populate = syscall.MAP_POPULATE
