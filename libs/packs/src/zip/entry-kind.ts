import type { BundleFaultReason } from '@muster/contracts';

const typeMask = 0o170000;
const [plain, folder, link] = [0o100000, 0o040000, 0o120000];
const dosFolder = 0x10;
const dosReparsePoint = 0x400;

/**
 * Checks what an entry's attributes create on the machine that unpacks it, whichever system the entry claims to be
 * from. Returns the fault; null if they create a plain file or a folder, whichever of the two the entry's name says.
 */
export function checkEntryKind(attributes: number, isFolder: boolean): BundleFaultReason | null {
  const type = (attributes >>> 16) & typeMask;
  if (type === link || (attributes & dosReparsePoint) !== 0) return 'link';
  if (type !== 0 && type !== plain && type !== folder) return 'device';
  const createsFolder = type === folder || (type === 0 && (attributes & dosFolder) !== 0);
  const createsFile = type === plain;
  return (createsFolder && !isFolder) || (createsFile && isFolder) ? 'bad_name' : null;
}
