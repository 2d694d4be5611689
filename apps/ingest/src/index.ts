export { IngestModule } from './ingest.module';
