import { endWorkers } from '@muster/vm';

// A process of its own, for the sake of the memory that its code takes: it is needed once, at the end.

void endWorkers(process.argv[2]!).finally(() => process.disconnect());
