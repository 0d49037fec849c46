<?php

return [Symfony\Bundle\FrameworkBundle\FrameworkBundle::class => ['all' => true]];
