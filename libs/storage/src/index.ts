export { getObjectOrigin } from './object-origin';
export { presignDownload } from './presign-download';
export { objectSigningHost, objectProxyPath, maxProxiedBytes, ObjectStorage } from './object-storage';
export { StorageConfig } from './storage.config';
export { StorageModule } from './storage.module';
