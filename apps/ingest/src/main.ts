import { BaseConfig, runApp } from '@muster/platform';
import { IngestModule } from './ingest.module';

void runApp({ name: 'ingest', configs: [BaseConfig], modules: [IngestModule] });
