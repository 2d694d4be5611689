import { endWorkers } from '@muster/vm';

// Runs in a separate process, because its code takes memory and is needed only once, at the end.

void endWorkers(process.argv[2]!).finally(() => process.disconnect());
