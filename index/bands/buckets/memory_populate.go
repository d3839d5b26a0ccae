//go:build linux && !race

package buckets

import "syscall"

// populate has the pages of a new block made at once: it is written all over
// right away, and a fault for each of them costs more than the page.
const populate = syscall.MAP_POPULATE
