package examples

import _ "jianguo/internal/memdir"
