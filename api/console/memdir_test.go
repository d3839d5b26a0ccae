package console_test

import _ "jianguo/internal/memdir"
