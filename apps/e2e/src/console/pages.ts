/** Pages of one resource. `list` is the API path that lists such resources, `of` the field of its response. */
export const pagesOfOneThing = [
  { name: 'agent', path: '/agents/$id', list: '/api/agents', of: 'agents' },
  { name: 'run', path: '/runs/$id', list: '/api/jobs', of: 'jobs' },
  { name: 'workflow', path: '/workflows/$id', list: '/api/workflows', of: 'workflows' },
  { name: 'schedule', path: '/schedules/$id', list: '/api/schedules', of: 'schedules' },
  { name: 'pack', path: '/packs/$id', list: '/api/workflow-packs', of: 'packs' },
  { name: 'autopilot-session', path: '/autopilot/$id', list: '/api/autopilot-sessions', of: 'sessions' },
] as const;
