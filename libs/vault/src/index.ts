export {
  decryptText,
  encryptText,
  type Envelope,
  generateDataKey,
  openEnvelope,
  rewrapEnvelope,
  sealValue,
} from './envelope';
export { KeyRing } from './key-ring';
export { VaultModule } from './vault.module';
export { isSealedText, openText, type SealedText, sealText } from './sealed-text';
