package importer_test

import _ "jianguo/internal/testbed"
