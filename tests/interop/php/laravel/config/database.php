<?php

return ['default' => 'none', 'connections' => ['none' => ['driver' => 'sqlite', 'database' => '']]];
