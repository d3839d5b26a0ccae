package exposure

import _ "jianguo/internal/memdir"
