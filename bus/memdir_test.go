package bus

import _ "jianguo/internal/testbed"
