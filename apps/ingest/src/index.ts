export { ingestConfigs } from './ingest-configs';
export { IngestModule } from './ingest.module';
