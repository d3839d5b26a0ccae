package ingest

import _ "jianguo/internal/memdir"
