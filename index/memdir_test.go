package index

import _ "jianguo/internal/memdir"
