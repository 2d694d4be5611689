import { runApp } from '@muster/platform';
import { standalone } from './standalone';

void runApp(standalone);
