/** Pages of one resource. `list` is the API path that lists such resources, `field` the field of its response. */
export const pagesOfOneResource = [
  { name: 'agent', path: '/agents/$id', list: '/api/agents', field: 'agents' },
  { name: 'run', path: '/runs/$id', list: '/api/jobs', field: 'jobs' },
  { name: 'workflow', path: '/workflows/$id', list: '/api/workflows', field: 'workflows' },
  { name: 'schedule', path: '/schedules/$id', list: '/api/schedules', field: 'schedules' },
  { name: 'pack', path: '/packs/$id', list: '/api/workflow-packs', field: 'packs' },
  { name: 'autopilot-session', path: '/autopilot/$id', list: '/api/autopilot-sessions', field: 'sessions' },
] as const;
