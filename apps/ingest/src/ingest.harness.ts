import { ingestConfigs } from './ingest-configs';
import { IngestModule } from './ingest.module';

/** The app that the specs start. */
export const ingest = { name: 'ingest' as const, configs: ingestConfigs, modules: [IngestModule] };
