export { lendFile } from './lend-file';
export { lentHost, lentPath, maxLentBytes, ObjectStorage } from './object-storage';
export { StorageConfig } from './storage.config';
export { StorageModule } from './storage.module';
