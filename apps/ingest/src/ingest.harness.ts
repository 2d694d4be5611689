import { ingestConfigs } from './ingest-configs';
import { IngestModule } from './ingest.module';

/** Options with which the specs start the app. */
export const ingest = { name: 'ingest' as const, configs: ingestConfigs, modules: [IngestModule] };
