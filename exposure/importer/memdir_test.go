package importer

import _ "jianguo/internal/memdir"
