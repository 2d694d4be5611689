import { ingestConfigs } from './ingest-configs';
import { IngestModule } from './ingest.module';

/** What the specs of this app start. */
export const ingest = { name: 'ingest' as const, configs: ingestConfigs, modules: [IngestModule] };
