import { findAlert, presentAlert } from '@muster/alerts';
import { findAgent } from '@muster/machines';
import { findSession, presentSession } from '@muster/assistant';
import { AppError, type WebhookType } from '@muster/contracts';
import type { Database } from '@muster/database';
import { findAnySubmission, presentSubmissionDetail } from '@muster/feedback';
import {
  findAccount,
  findBatch,
  findJob,
  findQuestion,
  presentAccount,
  presentBatch,
  presentJob,
  presentQuestion,
} from '@muster/jobs';
import { findInstallation, findVersion, presentInstallation, presentVersion } from '@muster/packs';
import { findSchedule, presentAgents, presentSchedule } from '@muster/schedules';
import { type ObjectStorage, presignDownload } from '@muster/storage';
import type { EventRow } from '@muster/webhooks';

export interface SubjectParts {
  database: Database;
  storage: ObjectStorage;
  now(): Date;
}

type Read = (parts: SubjectParts, event: EventRow) => Promise<object>;
type Kind = Exclude<WebhookType, 'webhook.test'> extends `${infer Before}.${string}` ? Before : never;

/** Reads an event’s resource as its GET route returns it; null if it was deleted. */
export async function readEventSubject(parts: SubjectParts, event: EventRow): Promise<object | null> {
  const kind = event.type.split('.')[0] as Kind;
  try {
    return await readers[kind](parts, event);
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return null;
    throw error;
  }
}

const readers: Record<Kind, Read> = {
  job: async ({ database, storage }, { organizationId, subjectId }) =>
    presentJob(await findJob(database, organizationId, subjectId), storage),
  batch: async ({ database }, { organizationId, subjectId }) =>
    presentBatch(await findBatch(database, organizationId, subjectId)),
  agent: async ({ database, now }, { organizationId, subjectId }) => {
    const row = await findAgent(database, organizationId, subjectId);
    const [agent] = await presentAgents(database, organizationId, { rows: [row], now: now() });
    return agent!;
  },
  schedule: async ({ database }, { organizationId, subjectId }) =>
    presentSchedule(await findSchedule(database, organizationId, subjectId)),
  limit: () => Promise.resolve({}),
  api_key: () => Promise.resolve({}),
  user: () => Promise.resolve({}),
  pack: async ({ database }, { organizationId, subjectId: versionId, details }) => {
    const { packId } = details as { packId: string };
    return presentVersion(await findVersion(database, organizationId, { packId, versionId }));
  },
  installation: async ({ database }, { organizationId, subjectId }) =>
    presentInstallation(await findInstallation(database, organizationId, subjectId)),
  autopilot: async ({ database, storage, now }, { organizationId, subjectId: sessionId, details }) => {
    const { agentId } = details as { agentId: string };
    const session = await findSession(database, { organizationId, agentId, sessionId });
    const presignKey = async (key: string | null) =>
      (await presignDownload(storage, key === null ? null : { storageKey: key }, now())).downloadUrl;
    return presentSession(session, presignKey, now());
  },
  question: async ({ database, storage }, { organizationId, subjectId }) =>
    presentQuestion(await findQuestion(database, organizationId, subjectId), storage),
  account: async ({ database }, { organizationId, subjectId }) =>
    presentAccount(await findAccount(database, organizationId, subjectId)),
  alert: async ({ database }, { organizationId, subjectId }) =>
    presentAlert(await findAlert(database, organizationId, subjectId)),
  feedback: async ({ database, storage, now }, { organizationId, subjectId }) =>
    presentSubmissionDetail(await findAnySubmission(database, organizationId, subjectId), { storage, now: now() }),
};
