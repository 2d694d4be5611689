const mebibyte = 1024 * 1024;

/** What a bundle may be. */
export const zipLimits = {
  zippedBytes: 64 * mebibyte,
  unzippedBytes: 512 * mebibyte,
  entries: 10_000,
  /** Beyond so much unzipped the whole may not be larger than its zip by more than this. */
  ratio: 100,
  ratioFromBytes: 10 * mebibyte,
  /** Names, extra fields and comments of all entries: read at once, so it is bounded. */
  directoryBytes: 8 * mebibyte,
  /** Of one path; beyond them its reason is path_too_long. */
  pathBytes: 4096,
  segments: 100,
  segmentBytes: 255,
};
