import { join } from 'node:path';
import { AccessLog } from '@muster/access';

// The gateway as it would be without the access log, which identity.ts compares with the real one.

AccessLog.prototype.recordRead = () => undefined;

void import(join(__dirname, '../../apps/gateway/src/main.js'));
