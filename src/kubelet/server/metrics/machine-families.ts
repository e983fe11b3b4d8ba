import type { Family } from "./exposition.ts";

export interface MachineInfo {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly cpus: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

/** The versions of kernel and operating system. The reference kubelet contains cAdvisor without its version. */
export function versionFamily({ kernelVersion, osImage }: MachineInfo): Family {
  return {
    name: "cadvisor_version_info",
    help: "Kernel version and OS version; the other labels are empty",
    type: "gauge",
    samples: [
      {
        labels: {
          kernelVersion,
          osVersion: osImage,
          dockerVersion: "",
          cadvisorVersion: "",
          cadvisorRevision: "",
        },
        value: 1,
      },
    ],
  };
}

export function machineFamilies(machine: MachineInfo): Family[] {
  const { machineId, systemUuid, bootId } = machine;
  const labels = { machine_id: machineId, system_uuid: systemUuid, boot_id: bootId };
  const gauge = (name: string, help: string, value: number): Family => ({
    name,
    help,
    type: "gauge",
    samples: [{ labels, value }],
  });
  return [
    gauge("machine_cpu_cores", "Number of logical CPU cores.", machine.cpus),
    gauge("machine_cpu_physical_cores", "Number of physical CPU cores.", machine.physicalCores),
    gauge("machine_cpu_sockets", "Number of CPU sockets.", machine.sockets),
    // Only mainframes have these.
    gauge("machine_cpu_books", "Number of CPU books.", 0),
    gauge("machine_cpu_drawers", "Number of CPU drawers.", 0),
    // Detected by a C library that the reference kubelet is built without.
    gauge("machine_nvm_avg_power_budget_watts", "NVM power budget.", 0),
    {
      name: "machine_nvm_capacity",
      help: "NVM capacity by mode: memory mode or app direct mode.",
      type: "gauge",
      samples: ["app_direct_mode", "memory_mode"].map((mode) => ({ labels: { ...labels, mode }, value: 0 })),
    },
    gauge("machine_memory_bytes", "Amount of memory installed on the machine.", machine.memoryBytes),
    gauge("machine_swap_bytes", "Amount of swap memory available on the machine.", machine.swapBytes),
    {
      name: "machine_scrape_error",
      help: "1 if there was an error while getting machine metrics, 0 otherwise",
      type: "gauge",
      samples: [{ labels: {}, value: 0 }],
    },
  ];
}
