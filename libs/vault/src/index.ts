export { type Envelope, open, rewrap, seal } from './envelope';
export { KeyRing, type MasterKey } from './key-ring';
export { VaultModule } from './vault-module';
