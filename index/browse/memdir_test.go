package browse

import _ "jianguo/internal/memdir"
