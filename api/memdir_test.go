package api

import _ "jianguo/internal/memdir"
