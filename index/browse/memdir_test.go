package browse

import _ "jianguo/internal/testbed"
