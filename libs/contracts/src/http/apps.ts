/** The six services; `standalone` is all of them in one process. */
export const serviceApps = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'] as const;
export type ServiceApp = (typeof serviceApps)[number];
export type AppName = ServiceApp | 'standalone';
