package api

import _ "jianguo/internal/testbed"
