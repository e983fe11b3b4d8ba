/** The first pod of a new node: a web server that responds with its name and address. */
export function demoPod(image: string): string {
  return `# The demo pod. Edit this file and the pod is replaced; remove it and the pod is terminated.
apiVersion: v1
kind: Pod
metadata:
  name: demo
  labels:
    app: demo
spec:
  terminationGracePeriodSeconds: 2
  containers:
    - name: web
      image: ${image}
      imagePullPolicy: Never
      command:
        - sh
        - -c
        - |
          mkdir -p /tmp/www
          echo "Hello from $POD_NAME at $POD_IP" > /tmp/www/index.html
          echo "serving on $POD_IP:8080"
          exec httpd -f -p 8080 -h /tmp/www
      env:
        - name: POD_NAME
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
        - name: POD_IP
          valueFrom: { fieldRef: { fieldPath: status.podIP } }
      ports:
        - containerPort: 8080
      resources:
        requests: { cpu: 10m, memory: 8Mi }
        limits: { memory: 64Mi }
`;
}
