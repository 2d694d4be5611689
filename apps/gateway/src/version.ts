import { readServiceVersion } from '@muster/platform';

/** Version of the service. */
export const version = readServiceVersion();
