import { processEnvironment } from '@muster/platform';
import { runAdmin } from './run-admin';

process.title = 'muster-admin';

void runAdmin(process.argv.slice(2), processEnvironment, process).then((code) => process.exit(code));
