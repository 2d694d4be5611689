import { runApp } from '@muster/platform';
import { ingestConfigs } from './ingest-configs';
import { IngestModule } from './ingest.module';

void runApp({ name: 'ingest', configs: ingestConfigs, modules: [IngestModule] });
