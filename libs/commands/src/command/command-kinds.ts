import type { CommandKind } from '@muster/contracts';

/**
 * Actions that workers execute as commands. Their requester and their result are recorded only on the agent's timeline.
 */
export const actionKinds = [
  'repair',
  'deploy_extension',
  'start_recording',
  'attach_recording',
  'stop_recording',
] as const satisfies CommandKind[];

export const imagingKinds = ['imaging_images', 'imaging_composite'] as const satisfies CommandKind[];
