import { AccessAndPlumbing1763690000000 } from './1763690000000-access-and-plumbing';

/** One linear history, oldest first. */
export const migrations = [AccessAndPlumbing1763690000000];
