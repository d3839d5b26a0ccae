package bus

import _ "jianguo/internal/memdir"
