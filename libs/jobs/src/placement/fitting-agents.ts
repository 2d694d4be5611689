/**
 * SQL condition over the agent: it can start a job now. An agent with `placement` off takes only jobs that name it;
 * `isNamed` is the SQL condition for such a job.
 */
export const isIdleAgentSql = (
  agent: string,
  isNamed = 'false',
) => `(${agent}.status = 'online' AND ${agent}.drain IS NULL
  AND (${agent}.placement OR ${isNamed}) AND ${agent}.current_job_id IS NULL AND ${agent}.autopilot_session_id IS NULL
  AND ${agent}.clearing_command_id IS NULL)`;

/** SQL condition over the agent: it has all of the labels, whatever its status. */
export const agentHasLabelsSql = (agent: string, organization: string, labels: string) =>
  `(${agent}.organization_id = ${organization} AND ${agent}.status <> 'terminated' AND ${agent}.labels @> ${labels})`;

/**
 * SQL condition over the job: an agent can start it now. This is the agent that the job names, or any agent with its
 * labels if it names none.
 */
export const hasIdleAgentSql = (job: string) => `CASE WHEN ${job}.agent_id IS NULL
  THEN EXISTS (SELECT FROM agent a WHERE ${agentHasLabelsSql('a', `${job}.organization_id`, `${job}.target_labels`)} AND ${isIdleAgentSql('a')})
  ELSE EXISTS (SELECT FROM agent a WHERE a.id = ${job}.agent_id AND ${isIdleAgentSql('a', 'true')}) END`;

const isDraining = `(a.drain IS NOT NULL OR a.status = 'draining')`;

/** The columns of an agent that `countAgentsSql` needs. */
export const fitCountColumns = 'a.status, a.drain, a.current_job_id, a.autopilot_session_id, a.clearing_command_id';

/**
 * SQL for the number of agents in each state, in the form of `waiting.detail`. `agents` is what follows FROM, with the
 * agents as `a`. An agent is counted as busy if it is online and cannot start a job now.
 */
export const countAgentsSql = (agents: string) => `(
  SELECT json_build_object('fits', count(*),
    'busy', count(*) FILTER (WHERE a.status = 'online' AND NOT ${isDraining}
      AND (a.current_job_id IS NOT NULL OR a.autopilot_session_id IS NOT NULL OR a.clearing_command_id IS NOT NULL)),
    'waking', count(*) FILTER (WHERE a.status IN ('starting', 'rebooting') AND NOT ${isDraining}),
    'draining', count(*) FILTER (WHERE ${isDraining}),
    'off', count(*) FILTER (WHERE a.status IN ('stopped', 'offline', 'stopping') AND NOT ${isDraining}))
  FROM ${agents})`;

/** SQL for the number of fitting agents in each state. */
export const countFittingAgentsSql = (
  organization: string,
  labels: string,
  isFitting = agentHasLabelsSql('a', organization, labels),
) => countAgentsSql(`agent a WHERE ${isFitting}`);

/** SQL over `job j`: how many agents fit the job and what they do, if the job waits for one of them. */
export const waitingForAgent = `(CASE
  WHEN j.status = 'queued' AND j.agent_id IS NULL AND j.waiting_reason IN ('no_agent_free', 'no_agent_online', 'agent_waking')
  THEN ${countFittingAgentsSql('j.organization_id', 'j.target_labels')} END)`;
